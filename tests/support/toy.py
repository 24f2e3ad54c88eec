"""The trained hybrid toy."""

from __future__ import annotations

from pathlib import Path

TOY = Path(__file__).resolve().parent.parent / "data" / "toy"
"""Its folder: a Qwen3.5 of four layers whose head was trained, see README.md there."""
