"""The caches of a model's layers: append tokens, roll back rejected ones, return to checkpoints."""
