"""Rate limit for work that is requested often, such as showing an answer that streams."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

# Share of the main thread's time that the work of one throttle may take.
_SHARE = 1 / 4


class Throttle(QObject):
    """Turns many requests into few signals, fewer when the work takes long; the last request is never lost.

    Signals:
        due: The requested work is to be done now, by the directly connected receivers.
    """

    due = Signal()

    def __init__(self, interval_ms: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._interval_ms = interval_ms
        self._pending = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._elapsed)

    def request(self) -> None:
        """Emit `due` now, or when the interval since the last one is over."""
        if self._timer.isActive():
            self._pending = True
            return
        self._timer.start(self._interval_ms)
        started = time.monotonic()
        self.due.emit()
        pause_ms = round(1000 * (time.monotonic() - started) / _SHARE)
        if pause_ms > self._interval_ms:
            self._timer.start(pause_ms)

    def cancel(self) -> None:
        self._pending = False
        self._timer.stop()

    def _elapsed(self) -> None:
        if self._pending:
            self._pending = False
            self.request()
