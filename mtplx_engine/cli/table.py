"""Rows of text as lines with even columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a line for each row, the first one usually with headings; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
