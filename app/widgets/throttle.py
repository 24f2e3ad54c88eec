"""Rate limit for repeated requests, such as repaints while an answer streams."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

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
