"""Conversion between rows of the database and chats, messages and statistics of answers."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from typing import TYPE_CHECKING, Any, Final, TypeVar

import apsw

from app.chat import validation
from app.chat.conversation import Attachment, ChatSummary, Message, MessageStatus, Role, clean_text
from app.chat.metrics import AnswerRecord
from app.chat.settings import MOST_TOKENS, ChatSettings
from app.storage.errors import built, overlaid, parsed
from mtplx_engine.config import SamplerConfig
from mtplx_engine.stats import DecodeStats, FinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_T = TypeVar("_T")
# Text that is not UTF-8, an unknown role or status, a damaged page.
_UNREADABLE_ROW = (ValueError, apsw.CorruptError)

_CHAT: Final = "SELECT id, title, created_ms, updated_ms, pinned FROM chats"
CHOICES: Final = "SELECT CAST(leaf_id AS BLOB), CAST(settings AS BLOB) FROM chats WHERE id = ?"
# As bytes: text that is not UTF-8 would end the query.
_MESSAGE: Final = """
    SELECT id, chat_id, parent_id, role, text, status, created_ms, CAST(model AS BLOB), CAST(stats AS BLOB),
        CAST(error AS BLOB), CAST(thinking AS BLOB), thought_ms, CAST(marks AS BLOB), CAST(sampler AS BLOB)
    FROM messages
"""
_ATTACHMENT: Final = "SELECT message_id, name, size, text FROM attachments"


def chat_from(row: tuple[str, str, int, int, int]) -> ChatSummary:
    """Return the chat of a row of `_CHAT`; ValueError for an impossible date."""
    chat_id, title, created_ms, updated_ms, pinned = row
    chat = ChatSummary(chat_id, validation.clean_title(title), created_ms, updated_ms, pinned=bool(pinned))
    validation.check_chat(chat)
    return chat


def message_from(row: tuple[Any, ...]) -> Message:
    """Return the message of a row of `_MESSAGE`, without attachments; ValueError for an impossible value."""
    message_id, chat_id, parent_id, role, text, status, created_ms, *rest = row
    model, stats, error, thinking, thought_ms, marks, sampler = rest
    message = Message(
        message_id,
        chat_id,
        parent_id,
        Role(role),
        text,
        MessageStatus(status),
        created_ms,
        name_from(model),
        _if_valid(built(DecodeStats, parsed(stats)), validation.check_stats),
        _text(error),
        _text(thinking),
        _if_valid(thought_ms, validation.check_thought) or 0,
        _marks(marks, len(text)),
        built(SamplerConfig, parsed(sampler)),
    )
    validation.check_message(message)
    return message


def attachment_from(row: tuple[str, str, int, str]) -> tuple[str, Attachment]:
    """Return the message's id, and the attachment of a row of `_ATTACHMENT`; ValueError for an impossible size."""
    message_id, name, size, text = row
    attachment = Attachment(validation.clean_name(name), size, text)
    validation.check_attachment(attachment)
    return message_id, attachment


def with_attachments(messages: Iterable[Message], attachments: Iterable[tuple[str, Attachment]]) -> tuple[Message, ...]:
    of: dict[str, list[Attachment]] = {}
    for message_id, attachment in attachments:
        of.setdefault(message_id, []).append(attachment)
    return tuple(dataclasses.replace(each, attachments=tuple(of.get(each.id, ()))) for each in messages)


def settings_from(stored: bytes | None) -> tuple[ChatSettings, bool]:
    """Return a chat's settings with defaults for damaged fields, and whether there are any."""
    body = parsed(stored)
    damaged: list[str] = []
    settings = overlaid(ChatSettings(), body, lambda name, _error: damaged.append(name))
    return settings, bool(damaged) or (stored is not None and not isinstance(body, dict))


def settings_row(settings: ChatSettings) -> str:
    fields = dataclasses.asdict(settings).items()
    return json.dumps({name: clean_text(value) if isinstance(value, str) else value for name, value in fields})


def attachment_rows(message: Message) -> list[tuple[str, str, int, str]]:
    return [(message.id, clean_text(a.name), a.size, clean_text(a.text)) for a in message.attachments]


def message_fields(message: Message) -> dict[str, str | int | None]:
    return {
        "id": message.id,
        "chat_id": message.chat_id,
        "parent_id": message.parent_id,
        "role": message.role.value,
        "created_ms": message.created_ms,
        **mutable_fields(message),
    }


def mutable_fields(message: Message) -> dict[str, str | int | None]:
    """Return the columns that change while an answer is written."""
    return {
        "status": message.status.value,
        "model": clean_text(message.model),
        "stats": _json(message.stats),
        "error": clean_text(message.error),
        "text": clean_text(message.text),
        "thinking": clean_text(message.thinking),
        "thought_ms": message.thought_ms,
        "marks": json.dumps(message.marks),
        "sampler": _json(message.sampler),
    }


def _if_valid(value: _T | None, check: Callable[[_T], None]) -> _T | None:
    if value is None:
        return None
    try:
        check(value)
    except validation.OutOfBoundsError:
        return None
    return value


def _json(value: DecodeStats | SamplerConfig | None) -> str | None:
    return None if value is None else json.dumps(dataclasses.asdict(value))


def _text(stored: bytes) -> str:
    return stored.decode(errors="replace")


def _counts(stored: bytes) -> tuple[int, ...]:
    counts: tuple[int, ...] = built(tuple[int, ...], parsed(stored)) or ()
    return counts


def _marks(stored: bytes, length: int) -> tuple[int, ...]:
    marks = _counts(stored)
    return marks if all(run >= 0 for run in marks) and sum(marks) <= length else ()


def read_row(connection: apsw.Connection, select: str, key: str) -> tuple[Any, ...] | None:
    """Return the row of a query; None when it is missing or unreadable."""
    try:
        row: tuple[Any, ...] | None = connection.execute(select, (key,)).fetchone()
    except _UNREADABLE_ROW:
        return None
    return row


def _read_rows(
    connection: apsw.Connection,
    table: str,
    select: str,
    where: str,
    convert: Callable[[Any], _T],
    *values: str,
) -> tuple[tuple[_T, ...], int]:
    """Return the rows that can be read and converted, and the number of the others."""
    try:
        return tuple(convert(row) for row in connection.execute(f"{select} {where}", values)), 0
    except _UNREADABLE_ROW:
        pass
    # One bad record ends a query; read one by one, only that record is lost.
    found, unreadable = [], 0
    keys = [seq for (seq,) in connection.execute(f"SELECT seq FROM {table} {where}", values)]  # noqa: S608
    for seq in keys:
        try:
            found.append(convert(connection.execute(f"{select} WHERE seq = ?", (seq,)).fetchone()))
        except _UNREADABLE_ROW:
            unreadable += 1
    return tuple(found), unreadable


def read_chats(connection: apsw.Connection, where: str, *values: str) -> tuple[tuple[ChatSummary, ...], int]:
    """Return the chats of an SQL condition with `values`, and the number of unreadable ones."""
    return _read_rows(connection, "chats", _CHAT, where, chat_from, *values)


def read_messages(connection: apsw.Connection, chat_id: str) -> tuple[tuple[Message, ...], int]:
    """Return the messages of a chat with their attachments, and the number of unreadable records of both."""
    messages, unreadable = _read_rows(
        connection,
        "messages",
        _MESSAGE,
        "WHERE chat_id = ? AND deleted_ms IS NULL ORDER BY seq",
        message_from,
        chat_id,
    )
    attachments, unreadable_too = _read_rows(
        connection,
        "attachments",
        _ATTACHMENT,
        "WHERE message_id IN (SELECT id FROM messages WHERE chat_id = ? AND deleted_ms IS NULL) ORDER BY seq",
        attachment_from,
        chat_id,
    )
    return with_attachments(messages, attachments), unreadable + unreadable_too


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
_STATS_TEXTS: Final = ("drafter", "depth")
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
    **{name: f"CAST({name} AS BLOB)" for name in (*_TEXTS, *_STATS_TEXTS, "accepted_at")},
}

SELECT: Final = f"SELECT {', '.join(how or name for name, how in _COLUMNS.items())} FROM figures"  # noqa: S608


SOUND: Final = " AND ".join(
    [
        f"ended_ms BETWEEN 0 AND {validation.LATEST_MS}",
        f"day BETWEEN {date.min.toordinal()} AND {date.max.toordinal()}",
        f"reason IN ({', '.join(repr(reason.value) for reason in FinishReason)})",
        f"min(memory, {', '.join(_COUNTS)}) >= 0",
        f"max({', '.join(_COUNTS)}) <= {MOST_TOKENS}",
        "cached_tokens <= prompt_tokens AND decode_tokens <= emitted AND accepted <= drafted",
        *(f"ifnull({name}, 1) BETWEEN {validation.SHORTEST_S} AND {validation.LONGEST_S}" for name in _TIMES),
    ]
)
"""SQL condition that holds for undamaged rows of statistics."""


def stats_row(record: AnswerRecord) -> dict[str, apsw.SQLiteValue]:
    stats = record.stats
    return {
        "ended_ms": record.ended_ms,
        "day": record.day.toordinal(),
        "memory": record.memory,
        "reason": record.reason.value,
        **{name: validation.clean_name(getattr(record, name)) for name in _TEXTS},
        **{name: getattr(stats, name) for name in (*_COUNTS, *_TIMES, *_STATS_TEXTS)},
        "accepted_at": json.dumps(stats.accepted_at),
    }


def stats_from(row: tuple[Any, ...]) -> AnswerRecord:
    """Return the statistics of a row of `SELECT` for which `SOUND` holds."""
    found = dict(zip(_COLUMNS, row, strict=True))
    counted = {name: found[name] for name in (*_COUNTS, *_TIMES)}
    counted |= {name: name_from(found[name]) for name in _STATS_TEXTS}
    stats = DecodeStats(accepted_at=_counts(found["accepted_at"]), **counted)
    return AnswerRecord(
        ended_ms=found["ended_ms"],
        day=date.fromordinal(found["day"]),
        memory=found["memory"],
        reason=FinishReason(found["reason"]),
        stats=stats,
        **{name: name_from(found[name]) for name in _TEXTS},
    )


def name_from(stored: bytes) -> str:
    """Return a stored name as it is shown."""
    return validation.clean_name(_text(stored))
