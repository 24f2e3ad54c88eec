"""Statistics of answers: the table and its summaries."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import apsw

from app.chat.metrics import ENOUGH_TOKENS, ENOUGH_WRITING_S
from app.chat.validation import clean_name
from app.storage import records
from app.storage.errors import storage_errors
from app.storage.schema import transaction
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from app.chat.metrics import AnswerRecord
    from mtplx_engine.measure.measurement import Measurement


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
class HistorySummary:
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
    summary: HistorySummary


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
class AnswerHistory:
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
    total: HistorySummary
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
        plain, bucket = results.results_of(measurement).plain.decode_tps, measurement.bucket
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


_CHOSEN: Final = """
    WHERE seq NOT IN (SELECT value FROM json_each(:unreadable)) AND (:model IS NULL OR model = :model)
    AND (:since IS NULL OR day >= :since)
    AND (:until IS NULL OR day <= :until)
"""
_LATER: Final = """
    SELECT count(*) FROM figures
    WHERE seq NOT IN (SELECT value FROM json_each(:unreadable)) AND day > :until
"""
_UNREADABLE: Final = f"SELECT seq FROM figures WHERE ({records.SOUND}) IS NOT TRUE"  # noqa: S608
_BUCKETS: Final = " ".join(
    f"WHEN prompt_tokens + emitted <= {bucket} THEN {bucket}" for bucket in CONTEXT_BUCKETS
)
# With the definitions of `DecodeStats` and `meters.measured_speed`.
_RATED: Final = f"""
    SELECT day, model, ttft_s, verify_steps, drafted, accepted,
        CASE {_BUCKETS} END AS bucket,
        CASE WHEN decode_tokens >= {ENOUGH_TOKENS} AND decode_s >= {ENOUGH_WRITING_S}
            THEN decode_tokens / decode_s END AS speed,
        CASE WHEN prompt_tokens > cached_tokens THEN prefill_s END AS prefill_s,
        CASE WHEN prefill_s IS NOT NULL THEN prompt_tokens - cached_tokens END AS fresh
    FROM figures {_CHOSEN}
"""  # noqa: S608
_SPEED: Final = (
    "count(*), count(speed), percentile_cont(speed, 0.25), median(speed), percentile_cont(speed, 0.75)"
)
_SUMMARY: Final = f"""
    {_SPEED}, count(ttft_s), median(ttft_s), sum(fresh), sum(prefill_s),
    sum(verify_steps), sum(drafted), sum(accepted)
"""
_TOTAL: Final = f"SELECT {_SUMMARY} FROM ({_RATED})"  # noqa: S608
_DAYS: Final = f"SELECT day, {_SPEED} FROM ({_RATED}) GROUP BY day"  # noqa: S608
# `part` is what a group has besides its model.
_GROUPS: Final = f"""
    SELECT CAST(model AS BLOB), {{part}} AS part, {_SUMMARY} FROM ({_RATED}) GROUP BY model, part
"""  # noqa: S608
_PART: Final = {Grouping.NOTHING: "NULL", Grouping.CONTEXT: "bucket"}
_DRAFTED: Final = f"""
    SELECT CAST(speed_key AS BLOB), CASE {_BUCKETS} END AS bucket, count(*), sum(decode_tokens), sum(decode_s),
        sum(accepted)
    FROM figures {_CHOSEN} AND verify_steps > 0 AND decode_s IS NOT NULL
    GROUP BY speed_key, bucket, round((decode_tokens - accepted) / decode_s, 1)
"""  # noqa: S608
_log = logging.getLogger(__name__)


class StatsTable:
    """The figures of all answers. Lives on the thread of the chats' connection.

    Args:
        connection: Has the chats open.
        folder: Where they are.
    """

    def __init__(self, connection: apsw.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._unreadable: list[int] | None = None  # not looked for yet

    def add(self, figures: AnswerRecord) -> None:
        """Keep the figures of an answer. Never raises: where they cannot be written they are lost, and nothing else."""
        row = records.figures_row(figures)
        statement = f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
        self._unreadable = None
        try:
            with transaction(self._connection):
                self._connection.execute(statement, tuple(row.values()))
        except (apsw.Error, OSError) as error:
            _log.warning("the figures of an answer were not kept: %r", error)

    def read(self, choice: Choice) -> AnswerHistory:
        """Return what is known of the answers that are chosen; those that cannot be read are passed over and counted.

        Raises:
            StoreError: The file cannot be read.
        """
        with storage_errors(self._folder):
            unreadable = self._look_for_damage()
            ((kept,),) = self._connection.execute("SELECT count(*) FROM figures")
            ((later,),) = self._rows(_LATER, choice)
            (total,) = self._rows(_TOTAL, choice)
            groups = self._rows(_GROUPS.format(part=_PART[choice.grouping]), choice)
            return AnswerHistory(
                choice,
                total=_summary(total),
                days=tuple(
                    Day(date.fromordinal(day), answers, _spread(*speed))
                    for day, answers, *speed in self._rows(_DAYS, choice)
                ),
                groups=tuple(_group(choice.grouping, *row) for row in groups),
                drafted=tuple(Drafted(_text(key), *row) for key, *row in self._rows(_DRAFTED, choice)),
                models=self._models(),
                kept=kept - len(unreadable),
                later=later,
                unreadable=len(unreadable),
            )

    def each(self, choice: Choice) -> Iterator[AnswerRecord]:
        """Return the answers that are chosen one by one, the first one first.

        Raises:
            StoreError: The file cannot be read.
        """
        with storage_errors(self._folder):
            for row in self._rows(f"{records.SELECT} {_CHOSEN} ORDER BY seq", choice):
                yield records.figures_from(row)

    def clear(self) -> None:
        """Delete the figures of all answers for good: their bytes are overwritten, and no log holds them any more.

        Raises:
            StoreError: They could not be deleted, and are all still there.
        """
        self._unreadable = None
        with storage_errors(self._folder):
            usual = self._connection.pragma("secure_delete")
            self._connection.pragma("secure_delete", 1)
            try:
                with transaction(self._connection):
                    self._connection.execute("DELETE FROM figures")
            finally:
                self._connection.pragma("secure_delete", usual)
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            _log.warning("the log still holds deleted figures until it is full: %r", error)

    def _rows(self, statement: str, choice: Choice) -> Iterator[Any]:
        values = {
            "unreadable": json.dumps(self._look_for_damage()),
            "model": choice.model,
            "since": choice.since and choice.since.toordinal(),
            "until": choice.until and choice.until.toordinal(),
        }
        return self._connection.execute(statement, values)

    def _look_for_damage(self) -> list[int]:
        """Return the records that cannot be read; all of them are looked at again when others have come."""
        if self._unreadable is None:
            self._unreadable = [seq for (seq,) in self._connection.execute(_UNREADABLE)]
        return self._unreadable

    def _models(self) -> tuple[str, ...]:
        names = self._connection.execute("SELECT DISTINCT CAST(model AS BLOB) FROM figures")
        return tuple(sorted((_text(name) for (name,) in names), key=str.casefold))


def _summary(values: Sequence[Any]) -> HistorySummary:
    answers, *speed, firsts, first, fresh, prefill_s, verify_steps, drafted, accepted = values
    return HistorySummary(
        answers,
        _spread(*speed),
        None if first is None else Middle(first, firsts),
        fresh / prefill_s if fresh and prefill_s else None,
        verify_steps or 0,
        drafted or 0,
        accepted or 0,
    )


def _spread(answers: int, low: float | None, median: float | None, high: float | None) -> Spread | None:
    if low is None or median is None or high is None:
        return None
    return Spread(low, median, high, answers)


def _group(grouping: Grouping, model: bytes, part: Any, *values: Any) -> Group:
    return Group(_text(model), part if grouping is Grouping.CONTEXT else None, _summary(values))


def _text(stored: bytes) -> str:
    return clean_name(stored.decode(errors="replace"))
