"""Restores the geometry of a window, so that it is always within reach."""

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
# Pixels of the title bar, by which a window is moved, that must be on a screen.
_TITLE_HEIGHT = 28
_REACHABLE_WIDTH = 120


def restore_geometry(window: QWidget, geometry: WindowGeometry | None, usual: QSize = DEFAULT_SIZE) -> None:
    """Set the geometry that a window had, or centre it on the main screen in its usual size."""
    screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    wanted = QRect(geometry.x, geometry.y, geometry.width, geometry.height) if geometry else None
    window.setMinimumSize(MINIMUM_SIZE)
    window.setGeometry(fitted_geometry(wanted, screens, usual))
    if geometry and geometry.maximized:
        window.setWindowState(Qt.WindowState.WindowMaximized)


def geometry_of(window: QWidget) -> WindowGeometry:
    rect = window.normalGeometry()
    return WindowGeometry(rect.x(), rect.y(), rect.width(), rect.height(), window.isMaximized())


def fitted_geometry(wanted: QRect | None, screens: Sequence[QRect], usual: QSize = DEFAULT_SIZE) -> QRect:
    """Return the rectangle at which to open a window.

    Args:
        wanted: Where the window was, None for the first time.
        screens: Available area of each screen, the main one first; at least one.
        usual: Size for the first time.
    """
    if wanted is not None:
        for screen in screens:
            rect = QRect(wanted.topLeft(), _limited(wanted.size(), screen))
            seen = screen.intersected(QRect(rect.topLeft(), QSize(rect.width(), _TITLE_HEIGHT)))
            if seen.width() >= _REACHABLE_WIDTH and seen.height() == _TITLE_HEIGHT:
                return rect
    size = _limited(wanted.size() if wanted is not None else usual, screens[0])
    corner = screens[0].center() - QPoint(size.width() // 2, size.height() // 2)
    return QRect(corner, size)


def _limited(size: QSize, screen: QRect) -> QSize:
    return size.expandedTo(MINIMUM_SIZE).boundedTo(screen.size())
