"""The architectures that this version can run. Imports nothing: it is asked before any load."""

from __future__ import annotations

SUPPORTED: frozenset[str] = frozenset(
    {"deepseek_v3", "glm4_moe", "glm4_moe_lite", "llama", "qwen3_5", "qwen3_5_moe", "qwen3_next"}
)
"""Values of config.json's `model_type`; `registry` has a family for each."""
