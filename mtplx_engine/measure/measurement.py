"""What was measured on this machine, as values that the window and the command line show alike. Imports no mlx.

Only runs are kept; every ratio, range and verdict is worked out of them, so that none can disagree with another.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.stats import DecodeStats
from mtplx_engine.util.system import Pressure, SystemState, pressure

if TYPE_CHECKING:
    from collections.abc import Sequence


LEAST_PAIRS = 3  # fewer show no range
FEW_STEPS = 50  # verify steps; a share of fewer is shown, but grey
_CROSS_GAP = 0.05  # of our plain decoding from mlx-lm's
CONTEXT_BUCKETS = (1024, 8192, 32768)


def context_bucket(tokens: int) -> int | None:
    """Return the context length that an answer is counted with: the least that holds it and its prompt, if any does."""
    return next((bucket for bucket in CONTEXT_BUCKETS if tokens <= bucket), None)


class PromptKind(StrEnum):
    """What a prompt is like, which decides how well its answer can be drafted."""

    CHAT = "chat"
    CODE = "code"
    MATHS = "maths"
    LANGUAGE = "another language"
    COPY = "copy-edit"


class SpeedVerdict(StrEnum):
    """A ratio in words."""

    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "no clear difference"
    TOO_FEW = "too few pairs"


class Doubt(StrEnum):
    """Why drafting that was slower at every depth that was measured may still pay in chats."""

    UNTRIED = "other depths were not tried"
    FEW_STEPS = "too few steps were verified"
    TEMPERATURE = "chats have another temperature"


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as plain decoding, over pairs of runs.

    Attributes:
        median: Of one value a pair.
        low: The smallest of them.
        high: The largest.
        pairs: How many they are.
    """

    median: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Ratio:
        """Reduce one value a pair, at least one."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    @property
    def verdict(self) -> SpeedVerdict:
        """The ratio in words; a range that holds 1 says nothing either way."""
        if self.pairs < LEAST_PAIRS:
            return SpeedVerdict.TOO_FEW
        if self.low > 1:
            return SpeedVerdict.FASTER
        return SpeedVerdict.SLOWER if self.high < 1 else SpeedVerdict.UNCLEAR


def times(ratio: float) -> str:
    """Return a ratio as in "1.24x", rounded down: a loss never looks like none, nor a gain larger than it is."""
    return f"{math.floor(ratio * 100 + 1e-9) / 100:.2f}x"


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One answer of a measurement.

    Attributes:
        pair: Runs with the same number answered the same prompt with the same sampler.
        prompt: Id of the prompt, as in "code-2".
        kind: What it is like.
        depth: Draft tokens per verify step, 0 for plain decoding.
        wall_s: From the request to the last token.
        stats: The engine's counts and times.
        peak_bytes: The most memory that mlx held during the run.
        identical: Whether its tokens are those of the plain run of its pair; None when sampling, and for plain runs.
    """

    pair: int
    prompt: str
    kind: PromptKind
    depth: int
    wall_s: float
    stats: DecodeStats
    peak_bytes: int
    identical: bool | None


@dataclass(frozen=True, slots=True)
class VerifyCurve:
    """V(M): what it costs to verify M tokens in one forward.

    Attributes:
        context: Tokens in the cache.
        seconds: Median seconds of a forward over 1, 2, ... tokens.
        draft_s: Median seconds in which one token is drafted; None without a drafter.
    """

    context: int
    seconds: tuple[float, ...]
    draft_s: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkSubject:
    """What was measured, and where.

    Attributes:
        key: Stands for the model's files and this machine; the same as in `ModelInfo.speed_key`.
        model: Name of the model.
        revision: Of its repository, "" when it is not known.
        quantization: As in "4-bit, group 64" or "bfloat16".
        drafter: Who drafted.
        backend: Device, dtype and BLAS in words.
        chip: Name of the processor, "" when the system does not tell.
        memory: Bytes that the machine has.
        system: Name and version of the operating system.
        version: Of MTPLX.
    """

    key: str
    model: str
    revision: str
    quantization: str
    drafter: str
    backend: str
    chip: str
    memory: int
    system: str
    version: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A whole measurement, its warm-up left out.

    Attributes:
        subject: What was measured, and where.
        taken_ms: When it ended, in ms since 1970.
        kinds: The kinds of prompts.
        context: Tokens of prompt and answer together, nearly; the bucket that it stands for.
        tokens: Of each answer.
        temperature: Of the sampler.
        runs: In the order in which they ran.
        curves: Cost of verifying, one for each context length that was tried.
        cross_check: Our plain decoding against plain mlx-lm, above 1 when ours is faster; None when it was not run.
        before: Conditions at the beginning.
        after: Conditions at the end.
        auto_depths: The draft depths that "auto" chooses among with this model.
        lifted: Whether the person lets the model draft although it was slower.
    """

    subject: BenchmarkSubject
    taken_ms: int
    kinds: tuple[PromptKind, ...]
    context: int
    tokens: int
    temperature: float
    runs: tuple[MeasuredRun, ...]
    curves: tuple[VerifyCurve, ...]
    cross_check: Ratio | None
    before: SystemState
    after: SystemState
    auto_depths: tuple[int, ...] = tuple(range(1, AUTO_MAX_DEPTH + 1))
    lifted: bool = False

    @property
    def bucket(self) -> int | None:
        """The context length of the answers that it decides for, see `context_bucket`."""
        return context_bucket(self.context)

    @property
    def pressure(self) -> tuple[Pressure, ...]:
        """What held the machine back meanwhile."""
        return pressure(self.before, self.after)

    @property
    def odd_cross_check(self) -> Ratio | None:
        """The cross-check where it differs by more than 5 %, so that it has to be shown."""
        ratio = self.cross_check
        return ratio if ratio is not None and abs(ratio.median - 1) > _CROSS_GAP + 1e-9 else None

    @property
    def depths(self) -> tuple[int, ...]:
        """The draft depths, without that of plain decoding."""
        return tuple(sorted({run.depth for run in self.runs} - {0}))


@dataclass(frozen=True, slots=True)
class ExactnessReport:
    """Whether drafting changes what the model says, tried on the person's own model.

    Attributes:
        subject: What was tried, and where.
        taken_ms: When, in ms since 1970.
        depth: Draft tokens per verify step.
        prefixes: Beginnings of text that were tried.
        rows: Verified rows that were compared with plain ones.
        distance: The largest total variation distance between the two laws of a next token, 0..1.
        allowed: The largest one that rounding of this device's numbers explains.
        logit_distance: The largest absolute difference of a logit.
        first_choices: Rows whose most probable token was the same.
        greedy_prefixes: Prefixes that were continued greedily both ways.
        greedy_same: How many of them gave the same tokens.
        greedy_ties: How many of the others parted where two tokens were as probable as rounding can tell.
        samples: Cycles of draft, verify and accept that were drawn, with all lengths of drafts.
        tokens_at: Tokens that came of them at draft position 1, 2, ..., accepted or recovered, and as bonus, the last.
        p_value: How often a right engine draws tokens as odd as these, or odder, for their rows, counting every look
            that was taken; None when too few were drawn.
    """

    subject: BenchmarkSubject
    taken_ms: int
    depth: int
    prefixes: int
    rows: int
    distance: float
    allowed: float
    logit_distance: float
    first_choices: int
    greedy_prefixes: int
    greedy_same: int
    greedy_ties: int
    samples: int
    tokens_at: tuple[int, ...]
    p_value: float | None

    @property
    def visible(self) -> float:
        """The share of tokens that, where a fault makes them others, are found nine times in ten."""
        return visible_share(sum(self.tokens_at))

    @property
    def visible_bonus(self) -> float:
        """The same of the bonus tokens alone."""
        return visible_share(self.tokens_at[-1])


def visible_share(tokens: int) -> float:
    """Return the share of so many drawn tokens that a fault must change to be found nine times in ten, 0..1.

    A fault that moves each of them by half of a row's mass moves the mean of uniform numbers by half the share; 6.6
    of its standard deviations are found at a p-value of 1e-6 among up to ten tests.
    """
    return min(1.0, 6.6 / math.sqrt(3 * tokens)) if tokens else 1.0
