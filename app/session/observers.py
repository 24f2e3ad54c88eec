"""Observers of the generation queue: unloading of an idle model, recording of statistics."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat.metrics import AnswerRecord, sampler_text
from app.services.engine_worker import EngineState
from mtplx_engine.config import SamplerConfig

if TYPE_CHECKING:
    from app.chat.generation import Generation
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from app.storage.store import Store
    from mtplx_engine.ipc.protocol import Finished, ModelInfo
    from mtplx_engine.measure.measurement import BenchmarkSubject


_MINUTE_MS = 60_000


class IdleUnload(QObject):
    """Unloads the model after some minutes without a generation."""

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
        """Set the minutes, 0 for never; a change restarts the wait."""
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
            self._queue.unload_idle()


class StatsRecorder(QObject):
    """Stores the statistics of each answer, after the answer itself.

    Only answers in chats are recorded, no warm-ups or benchmarks. An answer that failed, or ended before its first
    token, has no statistics.
    """

    def __init__(self, queue: GenerationQueue, store: Store) -> None:
        super().__init__(queue)
        self._queue = queue
        self._store = store
        queue.answered.connect(self._record)

    def _record(self, generation: Generation, event: Finished) -> None:
        model = self._queue.model
        if model is None or not event.stats.emitted:
            return
        sampler = sampler_text(generation.sampler or SamplerConfig())
        now = datetime.now().astimezone()

        # On the thread of the store, since the system is asked for its properties.
        self._store.add_stats(lambda: _answer_record(_subject(model), event, now, sampler))


def _answer_record(subject: BenchmarkSubject, event: Finished, now: datetime, sampler: str) -> AnswerRecord:
    return AnswerRecord(
        ended_ms=round(now.timestamp() * 1000),
        day=now.date(),
        model=subject.model,
        revision=subject.revision,
        quantization=subject.quantization,
        speed_key=subject.key,
        backend=subject.backend,
        chip=subject.chip,
        memory=subject.memory,
        system=subject.system,
        sampler=sampler,
        reason=event.reason,
        version=subject.version,
        # TTFT since Send, including the time in the queue.
        stats=replace(event.stats, ttft_s=event.stats.first_word_s, waited_s=None),
    )


@lru_cache(maxsize=1)
def _subject(model: ModelInfo) -> BenchmarkSubject:
    return model.benchmark_subject(model.drafter)
