"""The figures of answers in the chats file: kept one by one, read as a whole, deleted all at once."""

from __future__ import annotations

import json
import logging
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import apsw

from app.chat.bounds import clean_name
from app.chat.meters import ENOUGH_TOKENS, ENOUGH_WRITING_S
from app.services import figures_records
from app.services.chat_file import transaction
from app.services.history import Day, Drafted, Group, Grouping, History, Middle, Spread, Summary
from app.services.store_error import storage_errors
from mtplx_engine.measurement import CONTEXT_BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from app.chat.figures import AnswerFigures
    from app.services.history import Choice

_CHOSEN: Final = """
    WHERE seq NOT IN (SELECT value FROM json_each(:unreadable)) AND (:model IS NULL OR model = :model)
    AND (:since IS NULL OR day >= :since)
    AND (:until IS NULL OR day <= :until)
"""
_LATER: Final = """
    SELECT count(*) FROM figures
    WHERE seq NOT IN (SELECT value FROM json_each(:unreadable)) AND day > :until
"""
_UNREADABLE: Final = f"SELECT seq FROM figures WHERE ({figures_records.SOUND}) IS NOT TRUE"  # noqa: S608
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


class FiguresTable:
    """The figures of all answers. Lives on the thread of the chats' connection.

    Args:
        connection: Has the chats open.
        folder: Where they are.
    """

    def __init__(self, connection: apsw.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._unreadable: list[int] | None = None  # not looked for yet

    def add(self, figures: AnswerFigures) -> None:
        """Keep the figures of an answer. Never raises: where they cannot be written they are lost, and nothing else."""
        row = figures_records.figures_row(figures)
        statement = f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
        self._unreadable = None
        try:
            with transaction(self._connection):
                self._connection.execute(statement, tuple(row.values()))
        except (apsw.Error, OSError) as error:
            _log.warning("the figures of an answer were not kept: %r", error)

    def read(self, choice: Choice) -> History:
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
            return History(
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

    def each(self, choice: Choice) -> Iterator[AnswerFigures]:
        """Return the answers that are chosen one by one, the first one first.

        Raises:
            StoreError: The file cannot be read.
        """
        with storage_errors(self._folder):
            for row in self._rows(f"{figures_records.SELECT} {_CHOSEN} ORDER BY seq", choice):
                yield figures_records.figures_from(row)

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


def _summary(values: Sequence[Any]) -> Summary:
    answers, *speed, firsts, first, fresh, prefill_s, verify_steps, drafted, accepted = values
    return Summary(
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
