"""Widgets that have to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import shiboken6
from PySide6.QtCore import QObject, QThread, QTimer, Slot

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_LATER_MS: Final = 50


class Bin(QObject):
    """Does what `deleteLater` does, from Python: of a widget that Qt deletes, PySide keeps some 50 bytes for ever."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: list[tuple[QWidget, int]] = []
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._empty)

    def put(self, widget: QWidget) -> None:
        """Hide a widget, and delete it once nothing that is going on can need it."""
        widget.hide()
        self._waiting.append((widget, QThread.currentThread().loopLevel()))
        self._timer.start(0)

    @Slot()
    def _empty(self) -> None:
        # Inside a loop of its own, a menu's or a drag's, what threw the widget away is still under way.
        level = QThread.currentThread().loopLevel()
        ready = [widget for widget, put_at in self._waiting if level <= max(put_at, 1)]
        self._waiting = [each for each in self._waiting if each[0] not in ready]
        for widget in ready:
            if shiboken6.isValid(widget):
                shiboken6.delete(widget)
        if self._waiting:
            self._timer.start(_LATER_MS)
