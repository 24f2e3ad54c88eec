"""Small helpers of widgets: announce, restyle, throttle, dropped files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QToolTip

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, sentence: str) -> None:
    """Let a screen reader say `sentence` when it has finished what it is saying."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, sentence))


def restyle(widget: QWidget) -> None:
    """Let a widget look as its properties say by now."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def outline(frame: QWidget, event: QEvent) -> None:
    """Outline the frame around a field while that has the focus, by the events of the field."""
    if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
        frame.setProperty("focused", event.type() == QEvent.Type.FocusIn)
        restyle(frame)


# The work that a signal sets off may take this part of the time; the rest is for everything else.
_SHARE = 1 / 4


class Throttle(QObject):
    """Turns many requests into few signals, and fewer when each costs much; the last request is never lost.

    Signals:
        due: What was requested is to be done now.
    """

    due = Signal()

    def __init__(self, interval_ms: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._interval_ms = interval_ms
        self._waiting = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._elapsed)

    def request(self) -> None:
        """Send `due` now, or when the interval since the last one is over."""
        if self._timer.isActive():
            self._waiting = True
            return
        self._timer.start(self._interval_ms)
        started = time.monotonic()
        self.due.emit()
        pause_ms = round(1000 * (time.monotonic() - started) / _SHARE)
        if pause_ms > self._interval_ms:
            self._timer.start(pause_ms)

    def cancel(self) -> None:
        """Forget the request that waits."""
        self._waiting = False
        self._timer.stop()

    def _elapsed(self) -> None:
        if self._waiting:
            self._waiting = False
            self.request()


def object_to(field: QWidget, words: str) -> None:
    """Say `words` under a field, and to a screen reader."""
    QToolTip.showText(field.mapToGlobal(field.rect().bottomLeft()), words, field)
    announce(field, words)


def local_files(data: QMimeData) -> list[Path]:
    """Return the files that are held out; none when an address of the net is among them."""
    urls = data.urls()
    return [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []


class FileDrop(QObject):
    """Takes files that are dropped anywhere on a widget where nothing else takes them.

    Signals:
        dropped(list[Path]): They came.
    """

    dropped = Signal(object)

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        area.setAcceptDrops(True)
        area.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept files, and nothing else."""
        if isinstance(event, QDropEvent | QDragEnterEvent):
            files = local_files(event.mimeData())
            if files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(files)
                return True
        return super().eventFilter(watched, event)
