"""The architectures that this version can run. Imports nothing: it is asked before any load."""

from __future__ import annotations

SUPPORTED: frozenset[str] = frozenset({"llama"})
"""Values of config.json's `model_type`; `registry` has a family for each."""
