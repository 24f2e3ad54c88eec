"""Benchmarks that run a model: paired A/B, cost curves, exactness."""
