"""Gives the model's memory back when it had nothing to do for a while; the next question loads it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.services.engine_link import EngineLink, EngineState

if TYPE_CHECKING:
    from app.session.answer_line import GenerationQueue

_MINUTE_MS = 60_000


class IdleUnload(QObject):
    """Watches the engine.

    Args:
        queue: What is to be answered.
        link: The engine.
    """

    def __init__(self, queue: GenerationQueue, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = queue
        self._link = link
        self._minutes = 0
        self._clock = QTimer(self, singleShot=True)
        self._clock.timeout.connect(self._unload)
        link.state_changed.connect(self._begin)
        queue.ended.connect(self._begin)

    def set_minutes(self, minutes: int) -> None:
        """Wait that long, 0 for ever; the wait begins anew when it changes."""
        if minutes != self._minutes:
            self._minutes = minutes
            self._begin()

    def _begin(self) -> None:
        if self._minutes and self._link.state is EngineState.READY:
            self._clock.start(self._minutes * _MINUTE_MS)
        else:
            self._clock.stop()

    def _unload(self) -> None:
        if self._queue.pending or self._queue.held:
            self._begin()
        else:
            self._queue.rest()
