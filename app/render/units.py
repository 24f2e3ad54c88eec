"""Lengths and parts of text in UTF-16 units, as Qt counts positions."""

from __future__ import annotations

import re

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def part(text: str, start: int, end: int) -> str:
    """Return `text` from `start` to `end`, both in UTF-16 units."""
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "ignore")


def by_unit(text: str) -> str:
    """Return `text` with one character for each unit: two blanks stand for a character of two."""
    return text if text.isascii() else _TWO_UNITS.sub("  ", text)
