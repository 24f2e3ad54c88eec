"""The engine: loads models and decodes with multi-token prediction. Imports nothing by itself."""
