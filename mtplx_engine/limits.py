"""Numbers that decide how much memory a model takes, shared by whoever runs it and whoever judges it beforehand."""

from __future__ import annotations

METAL_CHUNK, CPU_CHUNK = 512, 64
"""Prompt tokens per forward: small enough that Stop acts within a second."""

CACHE_STEP = 256
"""Tokens by which buffers of keys and values grow."""

MOST_CHECKPOINTS, MOST_CHECKPOINT_BYTES = 16, 1 << 30
"""How many places in a chat are kept that caches without a way back return to, and their bytes together."""

WINDOW_GRAIN = 64
"""Tokens to a multiple of which a sliding window is rounded down at its start."""
