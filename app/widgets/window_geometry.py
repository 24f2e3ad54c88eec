"""A window's remembered geometry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication

from app.storage.settings import WindowGeometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget


DEFAULT_SIZE = QSize(1080, 720)
MINIMUM_SIZE = QSize(640, 480)
# The strip at the top by which a window is moved, and how much of it must be in reach.
_TITLE_HEIGHT = 28
_REACHABLE_WIDTH = 120


def restore_geometry(window: QWidget, place: WindowGeometry | None, usual: QSize = DEFAULT_SIZE) -> None:
    """Put a window where it was, or in the middle of the main screen in its usual size."""
    screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    wanted = QRect(place.x, place.y, place.width, place.height) if place else None
    window.setMinimumSize(MINIMUM_SIZE)
    window.setGeometry(fitted_geometry(wanted, screens, usual))
    if place and place.maximized:
        window.setWindowState(Qt.WindowState.WindowMaximized)


def geometry_of(window: QWidget) -> WindowGeometry:
    """Return where a window is, for `restore`."""
    place = window.normalGeometry()
    return WindowGeometry(place.x(), place.y(), place.width(), place.height(), window.isMaximized())


def fitted_geometry(wanted: QRect | None, screens: Sequence[QRect], usual: QSize = DEFAULT_SIZE) -> QRect:
    """Return the rectangle to open at.

    Args:
        wanted: Where the window was, None for the first time.
        screens: The free area of each screen that is there, the main one first; at least one.
        usual: The size for the first time.
    """
    if wanted is not None:
        for screen in screens:
            place = QRect(wanted.topLeft(), _limited(wanted.size(), screen))
            seen = screen.intersected(QRect(place.topLeft(), QSize(place.width(), _TITLE_HEIGHT)))
            if seen.width() >= _REACHABLE_WIDTH and seen.height() == _TITLE_HEIGHT:
                return place
    size = _limited(wanted.size() if wanted is not None else usual, screens[0])
    corner = screens[0].center() - QPoint(size.width() // 2, size.height() // 2)
    return QRect(corner, size)


def _limited(size: QSize, screen: QRect) -> QSize:
    return size.expandedTo(MINIMUM_SIZE).boundedTo(screen.size())
