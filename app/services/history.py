"""The figures of many answers, reduced: medians and quartiles, sums of counts, and the time that drafting saved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from mtplx_engine import results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from mtplx_engine.measurement import Measurement


FEWEST_QUARTILES: Final = 4
"""Answers; fewer have no middle half to speak of."""


class Grouping(Enum):
    """By what the answers of each model are told apart."""

    NOTHING = "nothing"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which answers are looked at.

    Attributes:
        model: Of this model; None for all.
        since: Of this day and later ones; None for all.
        until: Of this day and earlier ones; None for all.
        grouping: How the table tells them apart.
    """

    model: str | None = None
    since: date | None = None
    until: date | None = None
    grouping: Grouping = Grouping.CONTEXT


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the values of many answers lie.

    Attributes:
        low: A quarter of them are below it.
        median: Half of them are.
        high: Three quarters are.
        answers: How many answers have a value.
    """

    low: float
    median: float
    high: float
    answers: int


@dataclass(frozen=True, slots=True)
class Middle:
    """What the values of many answers are like.

    Attributes:
        median: Half of them are below it.
        answers: How many answers have a value.
    """

    median: float
    answers: int


@dataclass(frozen=True, slots=True)
class Day:
    """The answers of a day.

    Attributes:
        day: On the person's calendar.
        answers: How many.
        speed: Their decode speed, as in `Summary`.
    """

    day: date
    answers: int
    speed: Spread | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Many answers as one. None means that none of them has such a figure.

    Attributes:
        answers: How many.
        speed: Decode speed, in tokens per second, of those that are long enough to have one.
        first_text: Seconds from the request to the first visible text.
        prefill_tps: Uncached prompt tokens per second of prefill: all tokens by all seconds.
        verify_steps: V, of all of them.
        drafted: D.
        accepted: A.
    """

    answers: int
    speed: Spread | None
    first_text: Middle | None
    prefill_tps: float | None
    verify_steps: int
    drafted: int
    accepted: int

    @property
    def acceptance_rate(self) -> float | None:
        """A / D."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_length(self) -> float | None:
        """1 + A / V, tokens per verify step."""
        return 1 + self.accepted / self.verify_steps if self.verify_steps else None


@dataclass(frozen=True, slots=True)
class Group:
    """The answers of one model that are alike.

    Attributes:
        model: Its name.
        bucket: Their context length, where they are told apart by it; None as well for the longest ones.
        summary: What they have in common.
    """

    model: str
    bucket: int | None
    summary: Summary


@dataclass(frozen=True, slots=True)
class Drafted:
    """The answers with draft tokens of one model's files on one machine, in contexts of about the same length.

    In all of them, about as many tokens a second came without being accepted drafts, so that the same limit holds for
    what drafting can have saved in each.

    Attributes:
        speed_key: Stands for the files and the machine.
        bucket: Their context length, None for the longest ones.
        answers: How many.
        tokens: Emitted after the first event of each.
        seconds: In which these were emitted.
        accepted: Draft tokens that were accepted.
    """

    speed_key: str
    bucket: int | None
    answers: int
    tokens: int
    seconds: float
    accepted: int


@dataclass(frozen=True, slots=True)
class History:
    """What is known of the answers that were chosen.

    Attributes:
        choice: Which ones.
        total: All of them.
        days: Each day with answers, the first one first.
        groups: By model and by what the choice says.
        drafted: What the time saved is estimated from.
        models: The names of all models, chosen or not.
        kept: How many answers there are, chosen or not.
        later: How many of these are of a day after `choice.until`, as a clock that was wrong leaves them.
        unreadable: How many more there are that cannot be read.
    """

    choice: Choice
    total: Summary
    days: tuple[Day, ...]
    groups: tuple[Group, ...]
    drafted: tuple[Drafted, ...]
    models: tuple[str, ...]
    kept: int
    later: int
    unreadable: int

    @property
    def asked(self) -> dict[str, int]:
        """How many answers each model gave, the one with the most of them first."""
        answers: dict[str, int] = {}
        for group in self.groups:
            answers[group.model] = answers.get(group.model, 0) + group.summary.answers
        return dict(sorted(answers.items(), key=lambda each: (-each[1], each[0])))


@dataclass(frozen=True, slots=True)
class TimeSaved:
    """An estimate of what drafting gained.

    Attributes:
        seconds: Below 0 when it lost time; None when no answer has a baseline.
        covered: From how many answers it is estimated.
        answers: How many had draft tokens.
    """

    seconds: float | None
    covered: int
    answers: int


def baselines(measurements: Iterable[Measurement]) -> dict[tuple[str, int], float]:
    """Return the tokens per second of plain decoding that were measured, by speed key and context length.

    A machine that was held back, and plain decoding that differs from mlx-lm's, are nothing to compare with.

    Args:
        measurements: Each one such as `results.of` takes, the newest first.
    """
    found: dict[tuple[str, int], float] = {}
    for measurement in measurements:
        plain, bucket = results.of(measurement).plain.decode_tps, measurement.bucket
        if plain is not None and bucket is not None and _is_sound(measurement):
            found.setdefault((measurement.subject.key, bucket), plain)
    return found


def _is_sound(measurement: Measurement) -> bool:
    checked = measurement.cross_check is not None and measurement.odd_cross_check is None
    return checked and not measurement.pressure


def time_saved(drafted: Iterable[Drafted], baselines: Mapping[tuple[str, int], float]) -> TimeSaved:
    """Estimate what drafting gained: the seconds that plain decoding would have taken, less those that it took.

    Only tokens after the first event count, as in the times that they are compared with. No answer can have saved more
    than plain decoding would have taken for the draft tokens that were accepted in it.

    Args:
        drafted: The answers.
        baselines: Measured tokens per second of plain decoding, by speed key and context length.
    """
    seconds: list[float] = []
    covered = answers = 0
    for each in drafted:
        answers += each.answers
        plain = None if each.bucket is None else baselines.get((each.speed_key, each.bucket))
        if plain:
            covered += each.answers
            seconds.append(min(each.tokens / plain - each.seconds, each.accepted / plain))
    return TimeSaved(sum(seconds) if covered else None, covered, answers)
