"""Where the window opens: where it was, if that is on a screen that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QSize

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SIZE = QSize(1080, 720)
MINIMUM_SIZE = QSize(640, 480)
# The strip at the top by which a window is moved, and how much of it must be in reach.
_TITLE_HEIGHT = 28
_REACHABLE_WIDTH = 120


def fitted(wanted: QRect | None, screens: Sequence[QRect]) -> QRect:
    """Return the rectangle to open at.

    Args:
        wanted: Where the window was, None for the first time.
        screens: The free area of each screen that is there, the main one first; at least one.
    """
    if wanted is not None:
        for screen in screens:
            place = QRect(wanted.topLeft(), _limited(wanted.size(), screen))
            seen = screen.intersected(QRect(place.topLeft(), QSize(place.width(), _TITLE_HEIGHT)))
            if seen.width() >= _REACHABLE_WIDTH and seen.height() == _TITLE_HEIGHT:
                return place
    size = _limited(wanted.size() if wanted is not None else DEFAULT_SIZE, screens[0])
    corner = screens[0].center() - QPoint(size.width() // 2, size.height() // 2)
    return QRect(corner, size)


def _limited(size: QSize, screen: QRect) -> QSize:
    return size.expandedTo(MINIMUM_SIZE).boundedTo(screen.size())
