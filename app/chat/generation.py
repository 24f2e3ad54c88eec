"""One answer while it is generated, and what the window can do with a message. No Qt."""

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


_LONG_PROMPT = 256  # tokens; the prefill of fewer is too short to show


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a generation ended; `stats` are None where the engine sent none, `error` says why it failed."""

    status: MessageStatus
    stats: DecodeStats | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Prompt and settings of a generation; with `continues` the last message is the first part of the answer."""

    prompt: tuple[ChatMessage, ...]
    settings: ChatSettings
    continues: bool = False

    def command(self, generation: int, model: ModelInfo, drafting: Depth) -> Generate:
        """Return the command for the engine; `model` and `drafting` give what the chat does not set."""
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
    """New text of an answer from one event.

    Attributes:
        marks: Accepted draft runs of `text`, as in `Message.marks`.
        thought_ms: Duration of the thinking so far.
    """

    text: str
    thinking: str = ""
    marks: tuple[int, ...] = ()
    thought_ms: int = 0


class Marks:
    """Builds `Message.marks` from the runs of consecutive pieces."""

    def __init__(self, runs: Iterable[int] = ()) -> None:
        self._runs = list(runs)

    def add(self, runs: Iterable[int]) -> None:
        """Append the runs of the next piece of text."""
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
        """Return the runs of the whole text."""
        return tuple(self._runs)


class Generation:
    """An answer from Send until it ends.

    Attributes:
        question_id: The user's message, which must be on the disk before the request is sent.
        answer: The answer as it was at the start of the generation.
        committed: Whether the user's message is on the disk.
        prefill: Progress of the prefill; None before the first event.
        depth: The chosen draft depth and its reason; None before the event.
        thinking_tokens: How many of `tokens` are thinking.
        sampler: Sampling settings of the request; None before it is sent.
        waited_s: Seconds in the queue; None before the request is sent.
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
        self._thought_s: tuple[float, float] | None = None  # times of its first and last event

    @property
    def chat_id(self) -> str:
        return self.answer.chat_id

    @property
    def begun(self) -> bool:
        """Whether any visible text came."""
        return (self.text, self.thinking) != (self.answer.text, self.answer.thinking)

    @property
    def reading(self) -> str:
        """Progress of the prefill as text; "" for a short prompt or when it is done."""
        read = self.prefill
        if read is None or read.total - read.cached < _LONG_PROMPT or read.done >= read.total:
            return ""
        return tr("Reading… {done} of {total} tokens").format(done=f"{read.done:,}", total=f"{read.total:,}")

    @property
    def thought_ms(self) -> int:
        """Duration of the thinking so far."""
        first, last = self._thought_s or (0.0, 0.0)
        return self.answer.thought_ms + round(1000 * (last - first))

    def start(self, sampler: SamplerConfig) -> None:
        self.sampler = sampler
        self.waited_s = time.monotonic() - self._sent_s

    def timed(self, event: Finished) -> Finished:
        """Return the engine's last event with the time in the queue added, where there was a first token."""
        if event.stats.ttft_s is None:
            return event
        return dataclasses.replace(event, stats=dataclasses.replace(event.stats, waited_s=self.waited_s))

    def add(self, event: Tokens) -> Piece:
        """Add the tokens of a decode cycle."""
        self.tokens += len(event.token_ids)
        if event.thinking:
            first = self._thought_s[0] if self._thought_s else event.at_s
            self._thought_s = first, event.at_s
            self.thinking_tokens += 0 if event.text else len(event.token_ids)
        self.meter.add(at_s=event.at_s, tokens=len(event.token_ids), drafted=event.drafted, accepted=event.accepted)
        return self._write(event)

    def end(self, event: Finished) -> Piece:
        """Add the text that was held back until the end."""
        return self._write(event)

    def follow(self, earlier: Generation, stats: DecodeStats) -> None:
        """Take the late statistics of the generation that wrote the first part of this answer."""
        part = earlier.outcome(Outcome(MessageStatus.STOPPED, stats), self.answer.model)
        self.answer = dataclasses.replace(self.answer, stats=part.stats, sampler=part.sampler)

    def snapshot(self) -> Message:
        """Return the answer as a message with the text so far."""
        return dataclasses.replace(
            self.answer,
            text=self.text,
            thinking=self.thinking,
            thought_ms=self.thought_ms,
            marks=self._marks.runs(),
        )

    def outcome(self, outcome: Outcome, model: str) -> Message:
        """Return the final answer; the statistics of an earlier part are merged.

        An answer whose continuation failed is stopped, not failed.
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
    """Return an interrupted answer where a chat ends with a question, as after a crash; else None."""
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


def no_model_error() -> ErrorInfo:
    """Return the error while no model is loaded and nothing failed."""
    return ErrorInfo(ErrorKind.NO_MODEL, tr("No model is loaded. Press Restart to load it."))


def chosen_model_error(model: str, error: ErrorInfo) -> ErrorInfo:
    """Return the error of loading the model that is set for a chat, with a better sentence where it is missing."""
    if error.kind is not ErrorKind.NOT_FOUND:
        return error
    sentence = tr(
        "This chat asks the model “{model}”, which is not on this computer. Use the one that is loaded, or choose "
        "another one in the inspector."
    ).format(model=model)
    return ErrorInfo(error.kind, sentence, error.details or error.message)


ALONE = BranchPosition(1, 1)


class RowAction(StrEnum):
    """What the user can do with a message."""

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
    """State of a message's row in the transcript.

    Attributes:
        fix: Title of the button that mends its error, "" for none.
        boundary: Whether the prompt starts here, without the messages above.
    """

    place: BranchPosition = ALONE
    offers: frozenset[RowAction] = frozenset()
    fix: str = ""
    boundary: bool = False
