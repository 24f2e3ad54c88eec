"""Looks now and then at what the machine runs on, while somebody wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.tasks import TaskRunner
from mtplx_engine import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.conditions import Conditions

_INTERVAL_MS = 30_000  # a look starts programs of the system


class PowerWatch(QObject):
    """Looks at once when it is wanted, and every 30 seconds from then on, on another thread.

    Args:
        look: Returns the conditions of now, and may take a second.
        parent: Owns it.

    Attributes:
        conditions: Those of the last look; None before the first.

    Signals:
        changed: There are other conditions.
    """

    changed = Signal()

    def __init__(
        self, parent: QObject | None = None, *, look: Callable[[], Conditions] = conditions.now
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._tasks = TaskRunner("power", self, end_s=0.0)  # a look that hangs keeps nobody waiting
        self.conditions: Conditions | None = None
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._start)

    def want(self, *, on: bool) -> None:
        """Begin to look, or stop."""
        if on and not self._timer.isActive():
            self._timer.start()
            self._start()
        elif not on:
            self._timer.stop()
            self._tasks.abandon()

    def _start(self) -> None:
        if not self._tasks.busy:
            self._tasks.run(self._look, self._show, lambda _: self._show(None))

    def _show(self, found: Conditions | None) -> None:
        if found != self.conditions:
            self.conditions = found
            self.changed.emit()
