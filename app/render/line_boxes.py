"""Where a range of text stands in a line: in one piece, or in several where directions of reading meet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QTextLine

# Letters from right to left, and the signs that set a direction.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_HAIR = 0.5  # pixels; letters that are no further apart stand side by side


def spans(line: QTextLine, text: str, start: int, end: int) -> Iterator[tuple[float, float]]:
    """Yield the left and right edges of what shows the range from `start` to `end` in `line` of a block's `text`.

    Positions are in UTF-16 units.
    """
    # A cursor between two directions has two places, of which Qt tells one: glyphs have one each.
    runs = line.glyphRuns(start, end - start) if _RIGHT_TO_LEFT.search(text) else []
    pieces = sorted((box.left(), box.right()) for box in (run.boundingRect() for run in runs))
    if not pieces:
        left, right = sorted((_x(line, start), _x(line, end)))
        pieces = [(left, right)]
    left, right = pieces[0]
    for low, high in pieces[1:]:
        if low > right + _HAIR:
            yield left, right
            left = low
        right = max(right, high)
    yield left, right


def _x(line: QTextLine, position: int) -> float:
    # PySide returns the position with it, which its stubs do not say.
    result: Any = line.cursorToX(position)
    return float(result[0])
