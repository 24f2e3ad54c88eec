"""Messages about trials: measuring the speed of the loaded model, and checking that drafting is exact."""

from __future__ import annotations

from dataclasses import dataclass

from mtplx_engine.measurement import ExactnessReport, Measurement, PromptKind

# ---------------------------------------------------------------- commands: app -> engine


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the loaded model: plain decoding and each depth in turn; then what verifying costs.

    Attributes:
        generation: Id chosen by the app, out of the same numbers as those of answers.
        kinds: The kinds of prompts, at least one.
        context: Tokens of each prompt, about: the bucket that the figures stand for.
        tokens: Of each answer.
        pairs: Runs of plain decoding and of each depth, at least 3.
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


@dataclass(frozen=True, slots=True)
class CheckExactness:
    """Try whether drafting changes what the loaded model says.

    Attributes:
        generation: Id chosen by the app, out of the same numbers as those of answers.
        prefixes: Beginnings of text to try.
        samples: Next tokens to draw each way.
    """

    generation: int
    prefixes: int
    samples: int


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
