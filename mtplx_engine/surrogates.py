"""Lone surrogates: Python strings may hold them, but UTF-8, SQLite and tokenizers may not."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate replaced by U+FFFD, and pairs joined into the character they mean."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
