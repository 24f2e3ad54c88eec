"""Keeps the figures of every answer, for the history in the dashboard."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.chat.answer_kind import kind_of
from app.chat.desk import now_ms
from app.chat.figures import AnswerFigures, sampler_words
from mtplx_engine.config import SamplerConfig
from mtplx_engine.measurement import PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.answer_line import AnswerLine
    from app.chat.turn import Turn
    from app.services.store import Store
    from mtplx_engine.config import ChatMessage
    from mtplx_engine.protocol import Finished


class FiguresKeeper(QObject):
    """Passes on what the engine says of an answer when it ends, to be written after the answer itself.

    Only answers to questions of the person come this way: no warm-up, measurement or title does. One that failed, or
    ended before its first token, has no figures.
    """

    def __init__(self, line: AnswerLine, store: Store) -> None:
        super().__init__(line)
        self._line = line
        self._store = store
        self._version = importlib.metadata.version("mtplx")
        line.answered.connect(self._keep)

    def _keep(self, turn: Turn, event: Finished) -> None:
        model = self._line.model
        if model is None or not event.stats.emitted:
            return
        figures = AnswerFigures(
            ended_ms=now_ms(),
            day=datetime.now().astimezone().date(),
            model=model.name,
            revision=model.revision,
            quantization=model.quantization,
            speed_key=model.speed_key,
            sampler=sampler_words(turn.sampler or SamplerConfig()),
            kind=PromptKind.CHAT,
            reason=event.reason,
            version=self._version,
            stats=event.stats,
        )
        # The last turn of one that is written on is its own beginning.
        prompt = turn.ask.prompt[:-1] if turn.ask.continues else turn.ask.prompt
        self._store.add_figures(partial(_with_kind, figures, prompt, turn.text))


def _with_kind(figures: AnswerFigures, prompt: Sequence[ChatMessage], answer: str) -> AnswerFigures:
    return dataclasses.replace(figures, kind=kind_of(prompt, answer))
