"""The engine: loads models and decodes with multi-token prediction. No Qt; imports nothing by itself."""
