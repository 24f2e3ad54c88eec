"""Statistics of answers: their table, summaries of it, and the time that drafting saved."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import apsw

from app.chat.metrics import ENOUGH_TOKENS, ENOUGH_WRITING_S
from app.storage import records
from app.storage.errors import storage_errors
from app.storage.schema import transaction
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS
from mtplx_engine.stats import acceptance_rate, mean_acceptance_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from app.chat.metrics import AnswerRecord
    from mtplx_engine.measure.measurement import Measurement


FEWEST_QUARTILES: Final = 4
"""Fewest answers for which quartiles are shown."""


class Grouping(Enum):
    """What the answers of each model are grouped by."""

    NOTHING = "nothing"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter and a grouping of answers; None for every model, from the first day, or to the last."""

    model: str | None = None
    since: date | None = None
    until: date | None = None
    grouping: Grouping = Grouping.CONTEXT


@dataclass(frozen=True, slots=True)
class Spread:
    """First quartile, median and third quartile of a value over the `answers` that have it."""

    low: float
    median: float
    high: float
    answers: int


@dataclass(frozen=True, slots=True)
class Middle:
    """Median of a value over the `answers` that have it."""

    median: float
    answers: int


@dataclass(frozen=True, slots=True)
class Day:
    """The answers of a local date; `speed` as in `HistorySummary`."""

    day: date
    answers: int
    speed: Spread | None


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """Summary of answers; None where no answer has the value.

    Attributes:
        speed: Decode speed in tokens per second, of answers long enough to have one.
        first_text: Seconds from the request to the first visible text.
        prefill_tps: Uncached prompt tokens per second of prefill: sum of tokens / sum of seconds.
        verify_steps: V, summed.
        drafted: D, summed.
        accepted: A, summed.
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
        return acceptance_rate(self.accepted, self.drafted)

    @property
    def mean_acceptance_length(self) -> float | None:
        return mean_acceptance_length(self.accepted, self.verify_steps)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of answers of one model; `bucket`: context length, None for the longest and where not grouped by it."""

    model: str
    bucket: int | None
    summary: HistorySummary


@dataclass(frozen=True, slots=True)
class Drafted:
    """Answers with draft tokens of one model and machine, of about the same context length.

    Their rates of tokens that are not accepted drafts are about equal, so that the same limit holds for what drafting
    can have saved in each.

    Attributes:
        speed_key: Key of the model's files and the machine.
        bucket: Context length, None for the longest ones.
        tokens: Tokens after the first event of each.
        seconds: Decode seconds of these tokens.
        accepted: Accepted draft tokens.
    """

    speed_key: str
    bucket: int | None
    answers: int
    tokens: int
    seconds: float
    accepted: int


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """Statistics of the chosen answers.

    Attributes:
        days: Each day with answers, in order.
        drafted: The data for the estimate of the time saved.
        models: The names of all models, chosen or not.
        kept: Number of all answers, chosen or not.
        later: Number of answers after `choice.until`, as a wrong clock leaves them.
        unreadable: Number of unreadable rows.
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
        """The number of answers of each model, in descending order."""
        answers: dict[str, int] = {}
        for group in self.groups:
            answers[group.model] = answers.get(group.model, 0) + group.summary.answers
        return dict(sorted(answers.items(), key=lambda each: (-each[1], each[0])))


# ------------------------------------------------------------ the table


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
_BUCKETS: Final = " ".join(f"WHEN prompt_tokens + emitted <= {bucket} THEN {bucket}" for bucket in CONTEXT_BUCKETS)
# With the definitions of `DecodeStats` and `metrics.measured_speed`.
_RATED: Final = f"""
    SELECT day, model, ttft_s, verify_steps, drafted, accepted,
        CASE {_BUCKETS} END AS bucket,
        CASE WHEN decode_tokens >= {ENOUGH_TOKENS} AND decode_s >= {ENOUGH_WRITING_S}
            THEN decode_tokens / decode_s END AS speed,
        CASE WHEN prompt_tokens > cached_tokens THEN prefill_s END AS prefill_s,
        CASE WHEN prefill_s IS NOT NULL THEN prompt_tokens - cached_tokens END AS fresh
    FROM figures {_CHOSEN}
"""  # noqa: S608
_SPEED: Final = "count(*), count(speed), percentile_cont(speed, 0.25), median(speed), percentile_cont(speed, 0.75)"
_SUMMARY: Final = f"""
    {_SPEED}, count(ttft_s), median(ttft_s), sum(fresh), sum(prefill_s),
    sum(verify_steps), sum(drafted), sum(accepted)
"""
_TOTAL: Final = f"SELECT {_SUMMARY} FROM ({_RATED})"  # noqa: S608
_DAYS: Final = f"SELECT day, {_SPEED} FROM ({_RATED}) GROUP BY day"  # noqa: S608
# `part` is the grouping within a model.
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
    """The table of the statistics of all answers, on the thread of the chats' connection; errors name its `folder`."""

    def __init__(self, connection: apsw.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._unreadable: list[int] | None = None  # None until queried

    def add(self, record: AnswerRecord) -> None:
        """Add the statistics of an answer; a failed write is logged and loses only them."""
        row = records.stats_row(record)
        statement = f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
        self._unreadable = None
        try:
            with transaction(self._connection):
                self._connection.execute(statement, tuple(row.values()))
        except (apsw.Error, OSError) as error:
            _log.warning("the statistics of an answer were not kept: %r", error)

    def read(self, choice: Choice) -> AnswerHistory:
        """Return the statistics of the chosen answers; unreadable rows are skipped and counted. Raises `StoreError`."""
        with storage_errors(self._folder):
            unreadable = self._unreadable_rows()
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
                groups=tuple(
                    Group(records.name_from(model), bucket, _summary(values)) for model, bucket, *values in groups
                ),
                drafted=tuple(Drafted(records.name_from(key), *row) for key, *row in self._rows(_DRAFTED, choice)),
                models=self._models(),
                kept=kept - len(unreadable),
                later=later,
                unreadable=len(unreadable),
            )

    def each(self, choice: Choice) -> Iterator[AnswerRecord]:
        """Yield the chosen answers one by one, in order. Raises `StoreError`."""
        with storage_errors(self._folder):
            for row in self._rows(f"{records.SELECT} {_CHOSEN} ORDER BY seq", choice):
                yield records.stats_from(row)

    def clear(self) -> None:
        """Delete all statistics securely: their bytes are overwritten, also in the write-ahead log.

        Raises:
            StoreError: Nothing was deleted.
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
            _log.warning("the log still holds deleted statistics until it is full: %r", error)

    def _rows(self, statement: str, choice: Choice) -> Iterator[Any]:
        values = {
            "unreadable": json.dumps(self._unreadable_rows()),
            "model": choice.model,
            "since": choice.since and choice.since.toordinal(),
            "until": choice.until and choice.until.toordinal(),
        }
        return self._connection.execute(statement, values)

    def _unreadable_rows(self) -> list[int]:
        """Return the keys of unreadable rows, queried again after each change."""
        if self._unreadable is None:
            self._unreadable = [seq for (seq,) in self._connection.execute(_UNREADABLE)]
        return self._unreadable

    def _models(self) -> tuple[str, ...]:
        names = self._connection.execute("SELECT DISTINCT CAST(model AS BLOB) FROM figures")
        return tuple(sorted((records.name_from(name) for (name,) in names), key=str.casefold))


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


# ------------------------------------------------------------ time saved


@dataclass(frozen=True, slots=True)
class TimeSaved:
    """Estimate of the time that drafting saved.

    Attributes:
        seconds: Negative when it lost time; None when no answer has a baseline.
        covered: Number of answers with a baseline.
        answers: Number of answers with draft tokens.
    """

    seconds: float | None
    covered: int
    answers: int


def baselines(measurements: Iterable[Measurement]) -> dict[tuple[str, int], float]:
    """Return measured tokens per second of plain decoding, by speed key and context length.

    Measurements under memory or thermal pressure, or whose plain decoding differs from mlx-lm's, do not count; of the
    others, given newest first, the newest does.
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
    """Estimate the time saved: seconds of plain decoding for the same tokens, less the decode seconds.

    Only tokens after the first event count, as in the measured baselines. An answer cannot have saved more than the
    time of plain decoding for its accepted draft tokens.
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
