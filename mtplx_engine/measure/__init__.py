"""Measurements as data: types, verdicts, store. Imports no mlx."""
