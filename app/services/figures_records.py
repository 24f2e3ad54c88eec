"""Rows of the table of figures as values, and values as rows."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from app.chat import bounds
from app.chat.chat_settings import MOST_TOKENS
from app.chat.figures import AnswerFigures
from app.services.lenient import built, parsed
from mtplx_engine.stats import DecodeStats, FinishReason

if TYPE_CHECKING:
    import apsw

_TEXTS: Final = (
    "model",
    "revision",
    "quantization",
    "speed_key",
    "backend",
    "chip",
    "system",
    "sampler",
    "version",
)
_OF_STATS: Final = ("drafter", "depth")  # texts too
_COUNTS: Final = (
    "prompt_tokens",
    "cached_tokens",
    "emitted",
    "decode_tokens",
    "verify_steps",
    "plain_steps",
    "drafted",
    "accepted",
)
_TIMES: Final = ("ttft_s", "prefill_s", "decode_s")
# As bytes: text that is not UTF-8 would end the query.
_COLUMNS: Final = {
    **dict.fromkeys(("ended_ms", "day", "memory", "reason", *_COUNTS, *_TIMES)),
    **{name: f"CAST({name} AS BLOB)" for name in (*_TEXTS, *_OF_STATS, "accepted_at")},
}

SELECT: Final = f"SELECT {', '.join(how or name for name, how in _COLUMNS.items())} FROM figures"  # noqa: S608


SOUND: Final = " AND ".join(
    [
        f"ended_ms BETWEEN 0 AND {bounds.LATEST_MS}",
        f"day BETWEEN {date.min.toordinal()} AND {date.max.toordinal()}",
        f"reason IN ({', '.join(repr(reason.value) for reason in FinishReason)})",
        f"min(memory, {', '.join(_COUNTS)}) >= 0",
        f"max({', '.join(_COUNTS)}) <= {MOST_TOKENS}",
        "cached_tokens <= prompt_tokens AND decode_tokens <= emitted AND accepted <= drafted",
        *(f"ifnull({name}, 1) BETWEEN {bounds.SHORTEST_S} AND {bounds.LONGEST_S}" for name in _TIMES),
    ]
)
"""What holds of a row that was not damaged, as an SQL condition."""


def figures_row(figures: AnswerFigures) -> dict[str, apsw.SQLiteValue]:
    """Return all columns of an answer's figures."""
    stats = figures.stats
    return {
        "ended_ms": figures.ended_ms,
        "day": figures.day.toordinal(),
        "memory": figures.memory,
        "reason": figures.reason.value,
        **{name: bounds.clean_name(getattr(figures, name)) for name in _TEXTS},
        **{name: getattr(stats, name) for name in (*_COUNTS, *_TIMES, *_OF_STATS)},
        "accepted_at": json.dumps(stats.accepted_at),
    }


def figures_from(row: tuple[Any, ...]) -> AnswerFigures:
    """Return the figures of a row of `SELECT` for which `SOUND` holds."""
    found = dict(zip(_COLUMNS, row, strict=True))
    counted = {name: found[name] for name in (*_COUNTS, *_TIMES)}
    counted |= {name: _text(found[name]) for name in _OF_STATS}
    stats = DecodeStats(accepted_at=_accepted_at(found["accepted_at"]), **counted)
    return AnswerFigures(
        ended_ms=found["ended_ms"],
        day=date.fromordinal(found["day"]),
        memory=found["memory"],
        reason=FinishReason(found["reason"]),
        stats=stats,
        **{name: _text(found[name]) for name in _TEXTS},
    )


def _text(stored: bytes) -> str:
    return bounds.clean_name(stored.decode(errors="replace"))


def _accepted_at(stored: bytes) -> tuple[int, ...]:
    counts: tuple[int, ...] = built(tuple[int, ...], parsed(stored)) or ()
    return counts
