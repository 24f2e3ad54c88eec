"""Every message between the app and the engine process, each a frozen dataclass that crosses as one line of JSON.

A new process sends Hello, then a Heartbeat every second. Its commands are answered with these events:

    Load             LoadProgress, ...; then Loaded, Failed, or Unloaded when another Load or an Unload ends it
    Generate         PrefillProgress, ...; DepthChosen and Tokens, ...; then Finished or Failed
    Measure          TrialProgress, ...; then Measured, Abandoned (when cancelled) or Failed
    CheckExactness   TrialProgress, ...; then Checked, Abandoned or Failed
    Cancel           no event of its own: the cancelled job ends with Finished or Abandoned
    Count            Counted, unless a newer Count replaces it
    Unload           Unloaded
    Shutdown         the process exits

Generate, Measure and CheckExactness are jobs: they wait in one queue and share one sequence of ids, `generation`,
which the app chooses and every event of the job repeats.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from enum import StrEnum

from mtplx_engine.config import MAX_DEPTH, ChatMessage, DraftCore, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.measure.measurement import (
    LEAST_PAIRS,
    BenchmarkSubject,
    ExactnessReport,
    Measurement,
    PromptKind,
)
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util import system

USUAL_PREFIXES, USUAL_SAMPLES = 12, 2400
MOST_PREFIXES, MOST_SAMPLES = 1000, 100_000
MOST_PAIRS, MOST_TOKENS = 1000, 4096
LEAST_TOKENS = 16
"""Shorter answers show no speed."""

# ---------------------------------------------------------------- commands: app -> engine


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model; whatever was loaded is unloaded first.

    Attributes:
        model: Its folder, or the name of an installed one.
        draft_model: Folder or name of a smaller model with the same tokenizer that can draft; "" for none.
        anyway: Load it even when it will not fit into memory.
    """

    model: str
    data_dir: str
    draft_model: str = ""
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer a chat. Queued behind a Load that came before it.

    Attributes:
        messages: The turns so far, the last one usually the user's.
        max_tokens: At most this many tokens; None means up to the context window.
        stop: Strings that end the answer; they are not part of it.
        context: Tokens that prompt and answer may hold together; None, or more than it, means the model's window.
        thinking: Whether the model is to think first, where its template has a switch; None for its default.
        continues: Whether the last message is the start of the answer, to be continued from its last character:
            inside its thinking when it has no content yet.
    """

    generation: int
    messages: tuple[ChatMessage, ...]
    sampler: SamplerConfig
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    context: int | None = None
    thinking: bool | None = None
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the loaded model: plain decoding and each depth in turn; then the cost of verifying.

    Attributes:
        kinds: The kinds of prompts, at least one.
        context: Tokens of prompt and answer together, nearly: the context bucket that the results stand for.
        tokens: Of each answer, 16 to `MOST_TOKENS`.
        pairs: Runs of plain decoding and of each depth for each kind of prompts, 3 to `MOST_PAIRS`.
        depths: The depths to try; () for those that "auto" chooses among.
        temperature: Of the sampler; 0 shows as well whether the tokens are the same.
    """

    generation: int
    kinds: tuple[PromptKind, ...]
    context: int
    tokens: int
    pairs: int
    depths: tuple[int, ...] = ()
    temperature: float = 0.0
    drafter: DraftCore = "stock"

    def check(self) -> None:
        """Check what can be checked without a model; raises EngineError BAD_REQUEST with a sentence for the user."""
        problem = ""
        if not self.kinds:
            problem = "No kind of prompts is chosen; choose at least one."
        elif self.pairs < LEAST_PAIRS:
            problem = f"{self.pairs} pairs of answers show no range; take {LEAST_PAIRS} or more."
        elif self.tokens < LEAST_TOKENS:
            problem = f"{self.tokens} tokens are too few to measure a speed; take {LEAST_TOKENS} or more."
        elif self.pairs > MOST_PAIRS or self.tokens > MOST_TOKENS:
            problem = (
                f"{self.pairs:,} pairs of answers of {self.tokens:,} tokens would never end; take at most "
                f"{MOST_PAIRS:,} pairs and {MOST_TOKENS:,} tokens."
            )
        elif self.context <= self.tokens:
            problem = f"Answers of {self.tokens} tokens leave no room for a prompt; take more context."
        elif not all(1 <= depth <= MAX_DEPTH for depth in self.depths):
            problem = f"Depths to measure are whole numbers from 1 to {MAX_DEPTH}."
        SamplerConfig(temperature=self.temperature)
        if problem:
            raise EngineError(ErrorKind.BAD_REQUEST, problem)


@dataclass(frozen=True, slots=True)
class CheckExactness:
    """Test whether drafting changes the output distribution of the loaded model.

    Attributes:
        prefixes: Fixed text prefixes to decode from, 1 to `MOST_PREFIXES`.
        samples: Cycles to draw with drafting, all in all, 1 to `MOST_SAMPLES`; more are drawn when these are odd.
    """

    generation: int
    prefixes: int = USUAL_PREFIXES
    samples: int = USUAL_SAMPLES
    drafter: DraftCore = "stock"

    def check(self) -> None:
        """See `Measure.check`."""
        if not (1 <= self.prefixes <= MOST_PREFIXES and 1 <= self.samples <= MOST_SAMPLES):
            raise EngineError(
                ErrorKind.BAD_REQUEST,
                f"A check takes 1 to {MOST_PREFIXES:,} beginnings and 1 to {MOST_SAMPLES:,} draws, not "
                f"{self.prefixes:,} and {self.samples:,}.",
            )


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the job `generation`, whether it is running or queued."""

    generation: int


@dataclass(frozen=True, slots=True)
class Count:
    """Count the tokens of a prompt, whatever job is running; a newer Count replaces one still waiting.

    Attributes:
        request: Id chosen by the app; Counted repeats it.
        messages: The turns; an empty chat has none.
        texts: Texts to be counted each on its own, without what the template adds around them.
        thinking: As in `Generate`.
    """

    request: int
    messages: tuple[ChatMessage, ...]
    texts: tuple[str, ...] = ()
    thinking: bool | None = None


@dataclass(frozen=True, slots=True)
class Unload:
    """Drop the model and free its memory."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the engine process."""


# ---------------------------------------------------------------- events: engine -> app, of the process and the model


@dataclass(frozen=True, slots=True)
class Hello:
    """First event of an engine process."""

    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Sent every second by the engine's main thread, whatever the model is doing.

    `footprint` is the memory in bytes that the system counts for the process; None when it does not report it.
    """

    footprint: int | None = None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Progress of loading: a fraction 0..1 and the present phase as text for the user."""

    fraction: float
    phase: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the app shows of a loaded model.

    Attributes:
        context_window: Tokens that prompt and answer may hold together.
        drafter: The default drafter: "mtp" for the model's own head, "draft_model", or "none".
        drafter_note: Why there is no drafter, one sentence; empty when there is one.
        max_depth: The largest useful draft depth, 0 without a drafter.
        backend: Device, dtype and BLAS as text, as in "CPU, float32, OpenBLAS".
        token_bytes: Bytes that its caches hold per token, by its configuration; 0 when that is not known.
        revision: Of its repository, "" when unknown.
        quantization: How its weights are stored, as in "4-bit, group 64" or "bfloat16".
        speed_key: Identifies its files and this machine; measurements hold for one key.
    """

    name: str
    path: str
    context_window: int
    drafter: str
    drafter_note: str
    max_depth: int
    recommended: SamplerConfig
    backend: str
    load_s: float
    token_bytes: int = 0
    thinking_switch: bool = False
    revision: str = ""
    quantization: str = ""
    speed_key: str = ""

    def benchmark_subject(self, drafter: str) -> BenchmarkSubject:
        return BenchmarkSubject(
            key=self.speed_key,
            model=self.name,
            revision=self.revision,
            quantization=self.quantization,
            drafter=drafter,
            backend=self.backend,
            chip=system.chip_name(),
            memory=system.this_machine().memory,
            system=system.os_version(),
            version=importlib.metadata.version("mtplx"),
        )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model is ready."""

    info: ModelInfo


@dataclass(frozen=True, slots=True)
class Unloaded:
    """No model is loaded any more."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A job failed when `generation` is set; else loading, or the process itself."""

    error: ErrorInfo
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of `Count`.

    Attributes:
        tokens: Of the whole prompt; None when no model is loaded or its template refuses the chat.
        texts: Of each text alone; as many as were asked for, or none when `tokens` is None.
    """

    request: int
    tokens: int | None
    texts: tuple[int, ...] = ()


# ---------------------------------------------------------------- events of an answer


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """How much of the prompt is prefilled: `done` of `total` tokens, `cached` of them reused from the cache."""

    generation: int
    done: int
    total: int
    cached: int


class DepthReason(StrEnum):
    """Why an answer is drafted at its depth."""

    MEASURING = "measuring"  # not enough is known yet
    FASTEST = "fastest"  # expected to be fastest
    PARKED = "parked"  # drafting is not expected to pay here
    TURNED_OFF = "turned off"  # a measurement on this machine found it slower
    CHOSEN = "chosen"  # the user's choice
    REPEATABLE = "repeatable"  # a fixed depth, since a text with a seed shall repeat
    NO_DRAFTER = "no drafter"


@dataclass(frozen=True, slots=True)
class DepthChosen:
    """The depth of the next cycles, and why; sent when an answer starts and when this changes.

    Attributes:
        depth: Draft tokens per verify step; short trials of another depth do not count.
        expected: Expected speed as a multiple of plain decoding: at this depth, or where that is 0 at the best
            other one. None when that is not known.
    """

    generation: int
    depth: int
    reason: DepthReason
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens and the text that one decode cycle committed.

    Attributes:
        token_ids: The tokens emitted by this cycle, at least one.
        text: The answer's text that became certain; may be empty while a character or a stop string is incomplete.
        drafted: Draft tokens that this cycle verified, 0 at depth 0.
        accepted: How many of them were accepted and emitted.
        at_s: Seconds since the request reached the engine.
        thinking: The text of the model's thinking that became certain.
        marks: Lengths in characters of alternating runs of `text`: not drafted, drafted and accepted, not drafted,
            ...; they sum to its length. A character of several tokens counts with the token that completes it.
    """

    generation: int
    token_ids: tuple[int, ...]
    text: str
    drafted: int
    accepted: int
    at_s: float
    thinking: str = ""
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer ended; `text` and `thinking` are what was held back, usually empty.

    Attributes:
        cut: How many of the newest tokens already sent belong to the stop string, and so not to the answer.
        marks: As in `Tokens`, for the rest.
    """

    generation: int
    reason: FinishReason
    stats: DecodeStats
    text: str = ""
    thinking: str = ""
    cut: int = 0
    marks: tuple[int, ...] = ()


# ---------------------------------------------------------------- events of a measurement or a check


@dataclass(frozen=True, slots=True)
class TrialProgress:
    """Progress of a measurement or a check.

    Attributes:
        fraction: 0..1 of its time, about.
        what: The present step as text for the user, as in "depth 2, code".
        left_s: Seconds it will take, about; None when that is not known yet.
    """

    generation: int
    fraction: float
    what: str
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement ended; it is stored already."""

    generation: int
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Checked:
    """A check of exactness ended."""

    generation: int
    report: ExactnessReport


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A measurement or a check was cancelled; none of it is stored."""

    generation: int


Command = Load | Generate | Measure | CheckExactness | Cancel | Count | Unload | Shutdown
AnswerEvent = PrefillProgress | DepthChosen | Tokens | Finished
Event = (
    Hello
    | Heartbeat
    | LoadProgress
    | Loaded
    | Unloaded
    | Failed
    | Counted
    | AnswerEvent
    | TrialProgress
    | Measured
    | Checked
    | Abandoned
)
Message = Command | Event
