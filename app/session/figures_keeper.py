"""Records the statistics of every answer, for the history in the dashboard."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.chat.figures import AnswerFigures, sampler_words
from mtplx_engine.config import SamplerConfig
from mtplx_engine.subject import subject_of

if TYPE_CHECKING:
    from app.chat.turn import Generation
    from app.services.store import Store
    from app.session.answer_line import GenerationQueue
    from mtplx_engine.measurement import Subject
    from mtplx_engine.protocol import Finished, ModelInfo


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

        def made() -> AnswerFigures:
            """Ask the system, for which no window should wait."""
            return _figures(_subject(model), event, now, how)

        self._store.add_figures(made)


def _figures(subject: Subject, event: Finished, now: datetime, sampler: str) -> AnswerFigures:
    return AnswerFigures(
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
def _subject(model: ModelInfo) -> Subject:
    return subject_of(model, model.drafter)
