"""What follows the answers: idle unload, statistics."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat.metrics import AnswerRecord, sampler_words
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


class StatsRecorder(QObject):
    """Passes on what the engine says of an answer when it ends, to be written after the answer itself.

    Only answers to questions of the user come this way: no warm-up, measurement or title does. One that failed, or
    ended before its first token, has no figures.
    """

    def __init__(self, queue: GenerationQueue, store: Store) -> None:
        super().__init__(queue)
        self._queue = queue
        self._store = store
        queue.answered.connect(self._keep)

    def _keep(self, generation: Generation, event: Finished) -> None:
        model = self._queue.model
        if model is None or not event.stats.emitted:
            return
        how = sampler_words(generation.sampler or SamplerConfig())
        now = datetime.now().astimezone()

        def made() -> AnswerRecord:
            """Ask the system, for which no window should wait."""
            return _figures(_subject(model), event, now, how)

        self._store.add_figures(made)


def _figures(subject: BenchmarkSubject, event: Finished, now: datetime, sampler: str) -> AnswerRecord:
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
        # The user's time to the first word; a history has no use for its parts.
        stats=replace(event.stats, ttft_s=event.stats.first_word_s, waited_s=None),
    )


@lru_cache(maxsize=1)
def _subject(model: ModelInfo) -> BenchmarkSubject:
    return model.benchmark_subject(model.drafter)
