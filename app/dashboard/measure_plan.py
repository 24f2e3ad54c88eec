"""What the person wants to have measured, which of it the model can do, and how long it will take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.translate import tr
from mtplx_engine import words
from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.measurement import CONTEXT_BUCKETS, LEAST_PAIRS, PromptKind
from mtplx_engine.trials import Measure

if TYPE_CHECKING:
    from mtplx_engine.protocol import ModelInfo

ANSWER_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast a model decodes plainly and reads on this machine.

    Attributes:
        decode_tps: Tokens per second of plain decoding.
        prefill_tps: Tokens of prompts per second.
    """

    decode_tps: float
    prefill_tps: float


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """A measurement, before it is asked for.

    Attributes:
        kinds: The kinds of prompts.
        context: Tokens of prompt and answer together: the bucket that it stands for.
    """

    kinds: tuple[PromptKind, ...] = tuple(PromptKind)
    context: int = CONTEXT_BUCKETS[0]

    def request(self, generation: int) -> Measure:
        """Return the command for the engine."""
        return Measure(generation, self.kinds, self.context, ANSWER_TOKENS, LEAST_PAIRS)

    def seconds(self, speeds: Speeds) -> float:
        """Return how long it takes, about: drafted answers count as plain ones, which is enough to go by."""
        each = (self.context - ANSWER_TOKENS) / speeds.prefill_tps + ANSWER_TOKENS / speeds.decode_tps
        return len(self.kinds) * LEAST_PAIRS * (1 + AUTO_MAX_DEPTH) * each


def room(context: int, model: ModelInfo | None) -> str:
    """Return why a context length cannot be measured with a model, "" when it can."""
    if model is None or context <= model.context_window:
        return ""
    sentence = tr("{count}k are more than the {window} tokens that this model can hold.")
    return sentence.format(count=context // 1024, window=f"{model.context_window:,}")


def objection(plan: MeasurePlan, model: ModelInfo | None) -> str:
    """Return why a plan cannot be carried out, "" when it can."""
    if not plan.kinds:
        return tr("Choose at least one kind of prompts.")
    if model is not None and not model.max_depth:
        return tr("This model has nothing to draft with, so there is nothing to compare. {why}").format(
            why=model.drafter_note
        )
    return room(plan.context, model)


def estimate(plan: MeasurePlan, speeds: Speeds | None) -> str:
    """Return in words how long a plan takes, as far as that is known."""
    if speeds is None:
        return tr("How long it takes shows after its first answers; it can be cancelled at any time.")
    return tr("About {time}. Answers in chats wait meanwhile; it can be cancelled at any time.").format(
        time=words.duration(plan.seconds(speeds))
    )
