"""Messages about trials: measuring the speed of the loaded model, and checking that drafting is exact."""

from __future__ import annotations

from dataclasses import dataclass

from mtplx_engine.config import MAX_DEPTH, DraftCore, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.measurement import LEAST_PAIRS, ExactnessReport, Measurement, PromptKind

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
