"""A signal that is sent at once, and after that at most once per interval."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal


class Throttle(QObject):
    """Turns many requests into few signals; the last request is never lost.

    Signals:
        due: What was requested is to be done now.
    """

    due = Signal()

    def __init__(self, interval_ms: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self._elapsed)

    def request(self) -> None:
        """Send `due` now, or when the interval since the last one is over."""
        if self._timer.isActive():
            self._waiting = True
            return
        self._timer.start()
        self.due.emit()

    def cancel(self) -> None:
        """Forget the request that waits."""
        self._waiting = False
        self._timer.stop()

    def _elapsed(self) -> None:
        if self._waiting:
            self._waiting = False
            self.request()
