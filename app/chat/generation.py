"""One answer while it is generated. No Qt."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from app.chat.conversation import BranchPosition, Conversation, Message, MessageStatus, Role, new_id
from app.chat.metrics import LiveMeter
from app.i18n import tr
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import Generate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.chat.settings import ChatSettings
    from mtplx_engine.config import ChatMessage, Depth, SamplerConfig
    from mtplx_engine.ipc.protocol import DepthChosen, Finished, ModelInfo, PrefillProgress, Tokens
    from mtplx_engine.stats import DecodeStats


_LONG_PROMPT = 256  # tokens; reading fewer takes no time worth a word


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer ended.

    Attributes:
        status: What becomes of the message.
        stats: The engine's figures, when it got to give them.
        error: Why it failed, for ERROR.
    """

    status: MessageStatus
    stats: DecodeStats | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What is asked of the model, and how.

    Attributes:
        prompt: The messages that it is given.
        settings: Those of the chat, or others for this answer.
        continues: Whether the last message is the first part of the answer.
    """

    prompt: tuple[ChatMessage, ...]
    settings: ChatSettings
    continues: bool = False

    def command(self, generation: int, model: ModelInfo, drafting: Depth) -> Generate:
        """Return the command for the engine.

        Args:
            generation: The id of the answer.
            model: The one that is loaded; what is not set follows it.
            drafting: The draft depth where the chat does not set one.
        """
        settings = self.settings
        depth = drafting if settings.drafting is None else settings.drafting
        return Generate(
            generation,
            self.prompt,
            dataclasses.replace(settings.sampler or model.recommended, speculative_depth=depth),
            max_tokens=settings.max_tokens,
            context=settings.context,
            thinking=settings.thinking if model.thinking_switch else None,
            continues=self.continues,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """What came of an answer at once.

    Attributes:
        text: Of what is said.
        thinking: Of what is thought.
        marks: Which of `text` was drafted, as in `Message.marks`.
        thought_ms: How long all the thinking has taken so far.
    """

    text: str
    thinking: str = ""
    marks: tuple[int, ...] = ()
    thought_ms: int = 0


class Marks:
    """Runs of an answer's text, in turn not drafted and drafted, as `Message.marks` has them."""

    def __init__(self, runs: Iterable[int] = ()) -> None:
        self._runs = list(runs)

    def add(self, runs: Iterable[int]) -> None:
        """Add the runs of the text that follows."""
        for index, length in enumerate(runs):
            if not length:
                continue
            if not self._runs:
                self._runs += [0, length] if index % 2 else [length]
            elif len(self._runs) % 2 == index % 2:
                self._runs.append(length)
            else:
                self._runs[-1] += length

    def runs(self) -> tuple[int, ...]:
        """Return all of them."""
        return tuple(self._runs)


class Generation:
    """What is known of an answer from Send until it ends.

    Attributes:
        id: The number under which the engine knows it.
        question_id: The message that must be on the disk before the engine sees anything.
        answer: The answer as it was when this began.
        request: What the model is asked.
        committed: Whether the question is on the disk.
        prefill: How much of the prompt has been read, once the engine has said so.
        depth: How deep it is drafted, and why; in the same way.
        meter: Measures the answer while it is written.
        text: The answer so far.
        thinking: What was thought so far.
        tokens: How many tokens came.
        thinking_tokens: How many of them were thought.
        sampler: How they are chosen, once the engine was asked.
        waited_s: How long it was in line since Send, known from the same moment on.
    """

    def __init__(self, id_: int, question_id: str, answer: Message, request: GenerationRequest) -> None:
        self.id = id_
        self.question_id = question_id
        self.answer = answer
        self.request = request
        self.committed = False
        self.prefill: PrefillProgress | None = None
        self.depth: DepthChosen | None = None
        self.meter = LiveMeter()
        self.text = answer.text
        self.thinking = answer.thinking
        self.tokens = self.thinking_tokens = 0
        self.sampler: SamplerConfig | None = None
        self.waited_s: float | None = None
        self._sent_s = time.monotonic()
        self._marks = Marks(answer.marks or ((len(answer.text),) if answer.text else ()))
        self._thought_s: tuple[float, float] | None = None  # when the first and the last thought came

    @property
    def chat_id(self) -> str:
        """The chat that it belongs to."""
        return self.answer.chat_id

    @property
    def begun(self) -> bool:
        """Whether anything came that a user can see."""
        return (self.text, self.thinking) != (self.answer.text, self.answer.thinking)

    @property
    def reading(self) -> str:
        """How far its prompt has been read, in words; "" when that is not worth a word."""
        read = self.prefill
        if read is None or read.total - read.cached < _LONG_PROMPT or read.done >= read.total:
            return ""
        return tr("Reading… {done} of {total} tokens").format(done=f"{read.done:,}", total=f"{read.total:,}")

    @property
    def thought_ms(self) -> int:
        """How long the thinking took, as far as it is known."""
        first, last = self._thought_s or (0.0, 0.0)
        return self.answer.thought_ms + round(1000 * (last - first))

    def start(self, sampler: SamplerConfig) -> None:
        """Note that the engine is asked now, to choose tokens in this way."""
        self.sampler = sampler
        self.waited_s = time.monotonic() - self._sent_s

    def timed(self, event: Finished) -> Finished:
        """Return how it ended for the engine, and where there was a first word, with the wait before it was asked."""
        if event.stats.ttft_s is None:
            return event
        return dataclasses.replace(event, stats=dataclasses.replace(event.stats, waited_s=self.waited_s))

    def add(self, event: Tokens) -> Piece:
        """Take in what a decode cycle gave."""
        self.tokens += len(event.token_ids)
        if event.thinking:
            first = self._thought_s[0] if self._thought_s else event.at_s
            self._thought_s = first, event.at_s
            self.thinking_tokens += 0 if event.text else len(event.token_ids)
        self.meter.add(
            at_s=event.at_s,
            tokens=len(event.token_ids),
            drafted=event.drafted,
            accepted=event.accepted,
        )
        return self._write(event)

    def end(self, event: Finished) -> Piece:
        """Take in the rest that was held back."""
        return self._write(event)

    def follow(self, earlier: Generation, stats: DecodeStats) -> None:
        """Take the statistics of the generation that wrote the first part of the answer; they come when it is over."""
        part = earlier.outcome(Outcome(MessageStatus.STOPPED, stats), self.answer.model)
        self.answer = dataclasses.replace(self.answer, stats=part.stats, sampler=part.sampler)

    def snapshot(self) -> Message:
        """Return the answer as far as it is written."""
        return dataclasses.replace(
            self.answer,
            text=self.text,
            thinking=self.thinking,
            thought_ms=self.thought_ms,
            marks=self._marks.runs(),
        )

    def outcome(self, outcome: Outcome, model: str) -> Message:
        """Return the answer as it ended; a part that was there before keeps its figures.

        An answer that could not be continued is what it was: cut, and not failed.
        """
        failed = outcome.status is MessageStatus.ERROR
        status = MessageStatus.STOPPED if failed and self.request.continues else outcome.status
        stats = outcome.stats
        if self.request.continues and self.answer.stats is not None:
            stats = self.answer.stats.followed_by(stats) if stats else self.answer.stats
        sampler = self.sampler or self.answer.sampler
        if sampler is not None and stats is not None:
            sampler = dataclasses.replace(sampler, seed=stats.seed)
        return dataclasses.replace(
            self.snapshot(),
            status=status,
            stats=stats,
            error=outcome.error.message if outcome.error else "",
            model=model,
            sampler=sampler,
        )

    def _write(self, event: Tokens | Finished) -> Piece:
        marks = event.marks or ((len(event.text),) if event.text else ())
        self.text += event.text
        self.thinking += event.thinking
        self._marks.add(marks)
        return Piece(event.text, event.thinking, marks, self.thought_ms)


def missing_answer(conversation: Conversation) -> Message | None:
    """Return the answer that a chat lacks whose last question was saved in the moment before a crash."""
    path = conversation.path()
    if not path or path[-1].role is not Role.USER:
        return None
    return dataclasses.replace(
        path[-1],
        id=new_id(),
        parent_id=path[-1].id,
        role=Role.ASSISTANT,
        text="",
        status=MessageStatus.INTERRUPTED,
        attachments=(),
    )


def unloaded() -> ErrorInfo:
    """Return what is said while no model is loaded and nothing went wrong."""
    return ErrorInfo(ErrorKind.NO_MODEL, tr("No model is loaded. Press Restart to load it."))


def without(model: str, error: ErrorInfo) -> ErrorInfo:
    """Return why a chat's own model cannot answer."""
    if error.kind is not ErrorKind.NOT_FOUND:
        return error
    words = tr(
        "This chat asks the model “{model}”, which is not on this computer. Use the one that is loaded, or choose "
        "another one in the inspector."
    ).format(model=model)
    return ErrorInfo(error.kind, words, error.details or error.message)


ALONE = BranchPosition(1, 1)


class RowAction(StrEnum):
    """What a person can do to a message."""

    COPY = "copy"
    EDIT = "edit"
    REGENERATE = "regenerate"
    FOCUSED = "focused"
    VARIED = "varied"
    OTHER_MODEL = "other_model"
    RESUME = "resume"
    DETAILS = "details"
    DELETE = "delete"
    READ_ALL = "read_all"
    PREVIOUS = "previous"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class RowState:
    """What a message's row shows beside the message.

    Attributes:
        place: Which one of how many siblings it is.
        offers: What can be done to it now.
        fix: The name of the one thing to do about its error, "" when there is nothing to do.
        boundary: Whether the model does not read what is above it.
    """

    place: BranchPosition = ALONE
    offers: frozenset[RowAction] = frozenset()
    fix: str = ""
    boundary: bool = False
