"""Looks now and then at what the machine runs on, while somebody wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.background import Background
from mtplx_engine import conditions
from mtplx_engine.conditions import Conditions

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERVAL_MS = 30_000  # a look starts programs of the system
_END_S = 0.0  # a look that hangs keeps nobody waiting


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
        self._looking: Background | None = None
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
            if self._looking is not None:
                self._looking.abandon(_END_S)
                self._looking = None

    def _start(self) -> None:
        if self._looking is None:
            self._looking = Background("power", self._look, self)
            self._looking.ended.connect(self._ended)
            self._looking.start()

    def _ended(self, outcome: object) -> None:
        self._looking = None
        found = outcome if isinstance(outcome, Conditions) else None
        if found != self.conditions:
            self.conditions = found
            self.changed.emit()
