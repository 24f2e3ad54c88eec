"""Measurements and exactness reports as frozen data, shared by window and command line. Imports no mlx.

Only runs are stored; every ratio, range and verdict is derived from them, so that none can contradict another.
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
FEW_STEPS = 50  # verify steps; rates over fewer are shown as uncertain
_CROSS_GAP = 0.05  # between our plain decoding and mlx-lm's
CONTEXT_BUCKETS = (1024, 8192, 32768)


def context_bucket(tokens: int) -> int | None:
    """Return the smallest bucket that holds so many tokens of prompt and answer; None for more than the largest."""
    return next((bucket for bucket in CONTEXT_BUCKETS if tokens <= bucket), None)


class PromptKind(StrEnum):
    """The kind of a prompt, which decides how well its answer can be drafted."""

    CHAT = "chat"
    CODE = "code"
    MATHS = "maths"
    LANGUAGE = "another language"
    COPY = "copy-edit"


class SpeedVerdict(StrEnum):
    """The verdict on a ratio of speeds."""

    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "no clear difference"
    TOO_FEW = "too few pairs"


class Doubt(StrEnum):
    """Why drafting may still pay in chats although it was slower at every measured depth."""

    UNTRIED = "other depths were not tried"
    FEW_STEPS = "too few steps were verified"
    TEMPERATURE = "chats have another temperature"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed relative to plain decoding, over pairs of runs; above 1 is faster. Median and range of the pairs."""

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
        """The verdict; a range that includes 1 is unclear."""
        if self.pairs < LEAST_PAIRS:
            return SpeedVerdict.TOO_FEW
        if self.low > 1:
            return SpeedVerdict.FASTER
        return SpeedVerdict.SLOWER if self.high < 1 else SpeedVerdict.UNCLEAR


def times(ratio: float) -> str:
    """Return a ratio as in "1.24x", rounded down, so that no loss looks like none and no gain larger than it is."""
    return f"{math.floor(ratio * 100 + 1e-9) / 100:.2f}x"


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One answer of a measurement.

    Attributes:
        pair: Number of the pair; its runs answered the same prompt with the same sampler.
        prompt: Id of the prompt, as in "code-2".
        depth: Draft tokens per verify step, 0 for plain decoding.
        wall_s: Seconds from the request to the last token.
        identical: Whether its tokens equal those of the plain run of its pair; None when sampling, and for plain runs.
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
    """V(M), the cost of verifying M tokens in one forward.

    Attributes:
        context: Tokens in the cache.
        seconds: Median seconds of a forward over 1, 2, ... tokens.
        draft_s: Median seconds per drafted token; None without a drafter.
    """

    context: int
    seconds: tuple[float, ...]
    draft_s: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkSubject:
    """The model, drafter and machine of a measurement; "" for texts that are unknown.

    Attributes:
        key: Identifies the model's files and this machine; equals `ModelInfo.speed_key`.
        quantization: As in "4-bit, group 64" or "bfloat16".
        memory: Bytes of the machine.
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
    """A whole measurement, without its warm-up.

    Attributes:
        taken_ms: Time of its end, in ms since 1970.
        context: Tokens of prompt and answer together, about; usually one of `CONTEXT_BUCKETS`.
        tokens: Of each answer.
        runs: In the order in which they ran.
        cross_check: Our plain decoding against plain mlx-lm, above 1 when ours is faster; None when it was not run.
        auto_depths: The draft depths that "auto" chooses among with this model.
        lifted: Whether the user lets the model draft although it was slower.
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
        """The bucket of the answers that it decides for, see `context_bucket`."""
        return context_bucket(self.context)

    @property
    def pressure(self) -> tuple[Pressure, ...]:
        """What slowed the machine down meanwhile."""
        return pressure(self.before, self.after)

    @property
    def odd_cross_check(self) -> Ratio | None:
        """The cross-check if it is off by more than 5 %, so that it has to be shown."""
        ratio = self.cross_check
        return ratio if ratio is not None and abs(ratio.median - 1) > _CROSS_GAP + 1e-9 else None

    @property
    def depths(self) -> tuple[int, ...]:
        """The measured draft depths, without 0."""
        return tuple(sorted({run.depth for run in self.runs} - {0}))


@dataclass(frozen=True, slots=True)
class ExactnessReport:
    """Whether drafting changes the output of the user's own model.

    Attributes:
        taken_ms: Time of its end, in ms since 1970.
        depth: Draft tokens per verify step.
        rows: Rows of logits from verify steps that were compared with rows of plain decoding.
        distance: The largest total variation distance between two next-token distributions, 0..1.
        allowed: The largest one that rounding on this device explains.
        logit_distance: The largest absolute difference of a logit.
        first_choices: Rows with the same most probable token.
        greedy_prefixes: Prefixes that were continued greedily, plainly and with drafting.
        greedy_same: How many of them gave the same tokens.
        greedy_ties: How many of the others diverged at a tie, within rounding.
        samples: Cycles of draft, verify and accept that were sampled, with all lengths of drafts.
        tokens_at: Tokens sampled at draft position 1, 2, ..., accepted or recovered, and as bonus, the last.
        p_value: Of the sampled tokens under the distributions of their rows, corrected for the number of tests;
            None when too few were sampled.
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
        """The share of changed tokens that the check detects nine times in ten, 0..1."""
        return visible_share(sum(self.tokens_at))

    @property
    def visible_bonus(self) -> float:
        return visible_share(self.tokens_at[-1])


def visible_share(tokens: int) -> float:
    """Return the share of so many sampled tokens that a fault must change to be detected nine times in ten, 0..1.

    A fault that moves each of them by half of a row's mass moves the mean of uniform numbers by half the share; 6.6
    of its standard deviations are found at a p-value of 1e-6 among up to ten tests.
    """
    return min(1.0, 6.6 / math.sqrt(3 * tokens)) if tokens else 1.0
