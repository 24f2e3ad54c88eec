"""Every message between the app and the engine process."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mtplx_engine.config import MAX_DEPTH, ChatMessage, DraftCore, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.measure.measurement import LEAST_PAIRS, ExactnessReport, Measurement, PromptKind
from mtplx_engine.stats import DecodeStats, FinishReason

USUAL_PREFIXES, USUAL_SAMPLES = 12, 2400
MOST_PREFIXES, MOST_SAMPLES = 1000, 100_000
MOST_PAIRS, MOST_TOKENS = 1000, 4096
LEAST_TOKENS = 16
"""Shorter answers show no speed."""

# ---------------------------------------------------------------- commands: app -> engine


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the loaded model: plain decoding and each depth in turn; then what verifying costs.

    Attributes:
        generation: Id chosen by the app, out of the same numbers as those of answers.
        kinds: The kinds of prompts, at least one.
        context: Tokens of prompt and answer together, nearly: the bucket that the figures stand for.
        tokens: Of each answer, 16 to `MOST_TOKENS`.
        pairs: Runs of plain decoding and of each depth for each kind of prompts, 3 to `MOST_PAIRS`.
        depths: The depths to try; () for those that "auto" chooses among.
        temperature: Of the sampler; 0 shows as well whether the tokens are the same.
        drafter: Who drafts.
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
        """Check what can be checked without a model.

        Raises:
            EngineError: BAD_REQUEST, with a sentence for the person.
        """
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
    """Try whether drafting changes what the loaded model says.

    Attributes:
        generation: Id chosen by the app, out of the same numbers as those of answers.
        prefixes: Beginnings of text to try, 1 to `MOST_PREFIXES`.
        samples: Cycles to draw with drafting, all in all, 1 to `MOST_SAMPLES`; more are drawn when these are odd.
        drafter: Who drafts.
    """

    generation: int
    prefixes: int = USUAL_PREFIXES
    samples: int = USUAL_SAMPLES
    drafter: DraftCore = "stock"

    def check(self) -> None:
        """Check what can be checked without a model.

        Raises:
            EngineError: BAD_REQUEST, with a sentence for the person.
        """
        if not (1 <= self.prefixes <= MOST_PREFIXES and 1 <= self.samples <= MOST_SAMPLES):
            raise EngineError(
                ErrorKind.BAD_REQUEST,
                f"A check takes 1 to {MOST_PREFIXES:,} beginnings and 1 to {MOST_SAMPLES:,} draws, not "
                f"{self.prefixes:,} and {self.samples:,}.",
            )


# ---------------------------------------------------------------- events: engine -> app


@dataclass(frozen=True, slots=True)
class TrialProgress:
    """How far a measurement or a check is.

    Attributes:
        generation: Which one.
        fraction: 0..1 of its time, about.
        what: What is being done, for people, as in "depth 2, code".
        left_s: Seconds it will take, about; None when that is not known yet.
    """

    generation: int
    fraction: float
    what: str
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement ended; it is kept already."""

    generation: int
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Checked:
    """A check of exactness ended."""

    generation: int
    report: ExactnessReport


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A measurement or a check was cancelled; nothing of it is kept."""

    generation: int


# ---------------------------------------------------------------- commands: app -> engine


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model: a folder, or the name of an installed one. Whatever was loaded goes first.

    Attributes:
        model: The folder or the name.
        data_dir: Where installed models are.
        draft_model: A smaller model with the same tokenizer that can draft, in the same way; "" for none.
        anyway: Load it even when it will not fit into memory.
    """

    model: str
    data_dir: str
    draft_model: str = ""
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer a chat. Waits in line behind a Load that came before it.

    Attributes:
        generation: Id chosen by the app; every event of this answer carries it.
        messages: The turns so far, the last one usually the user's.
        sampler: How tokens are chosen, and the draft depth.
        max_tokens: At most this many tokens; None means up to the context window.
        stop: Strings that end the answer; they are not part of it.
        context: Tokens that prompt and answer may hold together; None, or more than it, means the model's window.
        thinking: Whether the model is to think first, where its template has a switch; None for its own way.
        continues: Whether the last message is the beginning of the answer, which is written on from its last
            character: inside its thinking when it has no content yet.
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
class Cancel:
    """Stop a generation, a measurement or a check that runs or waits.

    An answer finishes with reason "cancelled"; the others end with `Abandoned`.
    """

    generation: int


@dataclass(frozen=True, slots=True)
class Count:
    """Count the tokens of a prompt, whatever else goes on; a newer one takes the place of one that waits.

    Attributes:
        request: Id chosen by the app; the answer carries it.
        messages: The turns; an empty chat has none.
        texts: Texts to be counted each for itself, without what the template puts around them.
        thinking: As in `Generate`.
    """

    request: int
    messages: tuple[ChatMessage, ...]
    texts: tuple[str, ...] = ()
    thinking: bool | None = None


@dataclass(frozen=True, slots=True)
class Unload:
    """Drop the model and give its memory back."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the engine process."""


# ---------------------------------------------------------------- events: engine -> app


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the app shows of a loaded model.

    Attributes:
        name: Name for people.
        path: Its folder.
        context_window: Tokens that prompt and answer may hold together.
        drafter: Who drafts by default: "mtp" when the model does for itself, "draft_model", or "none".
        drafter_note: Why there is no drafter, one sentence; empty when there is one.
        max_depth: The largest useful draft depth, 0 without a drafter.
        recommended: The sampler that the model's makers recommend.
        backend: Device, dtype and BLAS in words, as in "CPU, float32, OpenBLAS".
        load_s: Seconds that loading took.
        token_bytes: Bytes that its caches keep of one token, by its configuration; 0 when that is not known.
        thinking_switch: Whether its chat template can be told to think, or not to.
        revision: Of its repository, "" when it is not known.
        quantization: How its weights are stored, as in "4-bit, group 64" or "bfloat16".
        speed_key: Stands for its files and this machine; what was measured under it is true of it.
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


@dataclass(frozen=True, slots=True)
class Hello:
    """First event of an engine process."""

    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Sent every second by the engine's main thread, whatever the model does.

    Attributes:
        footprint: Bytes of memory that the system counts for the process; None when it does not tell.
    """

    footprint: int | None = None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far loading is: a fraction 0..1 and what is being done, for people."""

    fraction: float
    phase: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model is ready."""

    info: ModelInfo


@dataclass(frozen=True, slots=True)
class Unloaded:
    """No model is loaded any more."""


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """How much of the prompt has been read: `done` of `total` tokens, `cached` of them reused."""

    generation: int
    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one decode cycle committed.

    Attributes:
        generation: Which answer it belongs to.
        token_ids: The tokens emitted by this cycle, at least one.
        text: The answer's text that became certain; may be empty while a character or a stop string is incomplete.
        drafted: Draft tokens that this cycle verified, 0 at depth 0.
        accepted: How many of them were accepted and emitted.
        at_s: Seconds since the request reached the engine.
        thinking: The text of the model's thinking that became certain.
        marks: Lengths of runs of `text` in characters, in turn not drafted and drafted-and-accepted, beginning with
            not drafted; they sum to its length. A character of several tokens counts with the one that ends it.
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
    """An answer ended.

    Attributes:
        generation: Which one.
        reason: Why.
        stats: Its figures.
        text: The rest of what is said that was held back, usually empty.
        thinking: The rest of what is thought that was held back, usually empty.
        cut: How many of the newest tokens that were told of belong to the stop string, and so not to the answer.
        marks: As in `Tokens`, for the rest.
    """

    generation: int
    reason: FinishReason
    stats: DecodeStats
    text: str = ""
    thinking: str = ""
    cut: int = 0
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """How long a prompt is.

    Attributes:
        request: Whose answer it is.
        tokens: Of the whole prompt; None when nobody can say: no model is loaded, or its template refuses the chat.
        texts: Of each text alone; as many as were asked for, or none when `tokens` is None.
    """

    request: int
    tokens: int | None
    texts: tuple[int, ...] = ()


class DepthReason(StrEnum):
    """Why an answer is drafted as deep as it is."""

    MEASURING = "measuring"  # not enough is known yet
    FASTEST = "fastest"  # what is expected to be fastest
    PARKED = "parked"  # drafting is not expected to pay here
    TURNED_OFF = "turned off"  # a measurement on this machine found it slower
    CHOSEN = "chosen"  # the person's choice
    REPEATABLE = "repeatable"  # one depth, since a text with a seed shall repeat
    NO_DRAFTER = "no drafter"


@dataclass(frozen=True, slots=True)
class DepthChosen:
    """How deep the next cycles are drafted, and why; sent when an answer begins and when this changes.

    Attributes:
        generation: Of which answer.
        depth: Draft tokens per verify step; a short look at another depth does not count.
        reason: Why.
        expected: How many times as fast as plain decoding drafting is expected to be: at this depth, or where that is
            0 at the best other one. None when that is not known.
    """

    generation: int
    depth: int
    reason: DepthReason
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Something failed: an answer or a trial when `generation` is set, else loading or the process itself."""

    error: ErrorInfo
    generation: int | None = None


AnswerEvent = PrefillProgress | DepthChosen | Tokens | Finished
Command = Load | Generate | Measure | CheckExactness | Count | Cancel | Unload | Shutdown
Event = (
    Hello
    | Heartbeat
    | LoadProgress
    | Loaded
    | Unloaded
    | PrefillProgress
    | DepthChosen
    | Tokens
    | Finished
    | TrialProgress
    | Measured
    | Checked
    | Abandoned
    | Counted
    | Failed
)
Message = Command | Event
