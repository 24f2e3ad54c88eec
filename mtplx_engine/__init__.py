"""The engine: loads models and decodes with multi-token prediction. Imports nothing itself; `engine` is the entry."""
