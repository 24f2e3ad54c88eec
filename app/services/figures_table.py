"""The figures of answers in the chats file: kept one by one, read as a whole, deleted all at once."""

from __future__ import annotations

import logging
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import apsw

from app.chat.bounds import clean_name
from app.chat.meters import ENOUGH_TOKENS, ENOUGH_WRITING_S
from app.dashboard.history import Drafted, Group, Grouping, History, Spread, Summary
from app.services import figures_records
from app.services.chat_file import transaction
from app.services.store_error import storage_errors
from mtplx_engine.measurement import CONTEXT_BUCKETS, PromptKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.chat.figures import AnswerFigures
    from app.dashboard.history import Choice

_CHOSEN: Final = f"""
    WHERE {figures_records.SOUND} AND (:model IS NULL OR model = :model) AND (:kind IS NULL OR kind = :kind)
    AND (:since IS NULL OR day >= :since)
"""
_BUCKETS: Final = " ".join(f"WHEN prompt_tokens <= {bucket} THEN {bucket}" for bucket in CONTEXT_BUCKETS)
# With the definitions of `DecodeStats` and `meters.measured_speed`.
_RATED: Final = f"""
    SELECT day, model, kind, ttft_s, verify_steps, drafted, accepted,
        CASE {_BUCKETS} END AS bucket,
        CASE WHEN decode_tokens >= {ENOUGH_TOKENS} AND decode_s >= {ENOUGH_WRITING_S}
            THEN decode_tokens / decode_s END AS speed,
        CASE WHEN prompt_tokens > cached_tokens THEN prefill_s END AS prefill_s,
        CASE WHEN prefill_s IS NOT NULL THEN prompt_tokens - cached_tokens END AS fresh
    FROM figures {_CHOSEN}
"""  # noqa: S608
_SUMMARY: Final = """
    count(*), count(speed), percentile_cont(speed, 0.25), median(speed), percentile_cont(speed, 0.75),
    count(ttft_s), percentile_cont(ttft_s, 0.25), median(ttft_s), percentile_cont(ttft_s, 0.75),
    sum(fresh), sum(prefill_s), sum(verify_steps), sum(drafted), sum(accepted)
"""
# One statement, so that the answers are read from the file once. `part` is what a group has besides its model.
_HISTORY: Final = f"""
    WITH rated AS MATERIALIZED ({_RATED})
    SELECT 'total', NULL, NULL, {_SUMMARY} FROM rated
    UNION ALL SELECT 'day', day, NULL, {_SUMMARY} FROM rated GROUP BY day
    UNION ALL SELECT 'group', CAST(model AS BLOB), {{part}} AS part, {_SUMMARY} FROM rated GROUP BY model, {{part}}
"""  # noqa: S608
_PART: Final = {Grouping.NOTHING: "NULL", Grouping.KIND: "kind", Grouping.CONTEXT: "bucket"}
_DRAFTED: Final = f"""
    SELECT CAST(speed_key AS BLOB), CASE {_BUCKETS} END AS bucket, count(*), sum(decode_tokens), sum(decode_s)
    FROM figures {_CHOSEN} AND verify_steps > 0 AND decode_s IS NOT NULL GROUP BY speed_key, bucket
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

    def add(self, figures: AnswerFigures) -> None:
        """Keep the figures of an answer. Never raises: where they cannot be written they are lost, and nothing else."""
        row = figures_records.figures_row(figures)
        statement = f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
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
            rows = self._rows(_HISTORY.format(part=_PART[choice.grouping]), choice)
            parts: dict[str, list[tuple[Any, Any, Summary]]] = {"total": [], "day": [], "group": []}
            for name, first, second, *values in rows:
                parts[name].append((first, second, _summary(values)))
            ((kept, sound),) = self._connection.execute(
                f"SELECT count(*), count(*) FILTER (WHERE {figures_records.SOUND}) FROM figures"  # noqa: S608
            )
            return History(
                choice,
                total=parts["total"][0][2],
                days=tuple((date.fromordinal(day), found) for day, _, found in parts["day"]),
                groups=tuple(
                    _group(choice.grouping, model, part, found) for model, part, found in parts["group"]
                ),
                drafted=tuple(
                    Drafted(_text(key), bucket, answers, tokens, seconds)
                    for key, bucket, answers, tokens, seconds in self._rows(_DRAFTED, choice)
                ),
                models=self._models(),
                kept=sound,
                unreadable=kept - sound,
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
        """Delete the figures of all answers for good.

        Raises:
            StoreError: They could not be deleted, and are all still there.
        """
        with storage_errors(self._folder), transaction(self._connection):
            self._connection.execute("DELETE FROM figures")

    def _rows(self, statement: str, choice: Choice) -> Iterator[Any]:
        values = {
            "model": choice.model,
            "kind": choice.kind and choice.kind.value,
            "since": choice.since and choice.since.toordinal(),
        }
        return self._connection.execute(statement, values)

    def _models(self) -> tuple[str, ...]:
        names = self._connection.execute(
            f"SELECT DISTINCT CAST(model AS BLOB) FROM figures WHERE {figures_records.SOUND}"  # noqa: S608
        )
        return tuple(sorted((_text(name) for (name,) in names), key=str.casefold))


def _summary(values: list[Any]) -> Summary:
    answers, *spreads, fresh, prefill_s, verify_steps, drafted, accepted = values
    return Summary(
        answers,
        _spread(*spreads[:4]),
        _spread(*spreads[4:]),
        fresh / prefill_s if fresh and prefill_s else None,
        verify_steps or 0,
        drafted or 0,
        accepted or 0,
    )


def _spread(answers: int, low: float | None, median: float | None, high: float | None) -> Spread | None:
    if low is None or median is None or high is None:
        return None
    return Spread(low, median, high, answers)


def _group(grouping: Grouping, model: bytes, part: Any, summary: Summary) -> Group:
    kind = PromptKind(part) if grouping is Grouping.KIND else None
    return Group(_text(model), kind, part if grouping is Grouping.CONTEXT else None, summary)


def _text(stored: bytes) -> str:
    return clean_name(stored.decode(errors="replace"))
