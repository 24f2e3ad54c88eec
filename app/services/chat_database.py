"""Chats and messages in SQLite: synchronous, one owner, one thread. `store.Store` is what the window talks to."""

from __future__ import annotations

import dataclasses
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import apsw

from app.chat.conversation import (
    ChatSummary,
    Conversation,
    Message,
    MessageStatus,
    Role,
    clean_text,
    conversation_from,
)
from app.services.chat_file import open_chats, transaction
from app.services.store_error import StoreError, storage_errors
from mtplx_engine.protocol import build
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEEP_DELETED_MS: Final = 30 * 24 * 3600 * 1000

_CHAT = "SELECT id, title, created_ms, updated_ms FROM chats"
_MESSAGE = "SELECT id, chat_id, parent_id, role, text, status, created_ms, model, stats, error FROM messages"

# Text that is not UTF-8, a role or status that does not exist, a page that is damaged.
_UNREADABLE = (ValueError, apsw.CorruptError)

_T = TypeVar("_T")


class ChatDatabase:
    """The chats of one person. Whatever a method has returned from is on the disk.

    All methods raise `StoreError` when the file cannot be read or written; a write then had no effect at all.

    Attributes:
        notice: What the person should be told about how the file was opened; "" when all is well.
    """

    def __init__(self, folder: Path, now_ms: int) -> None:
        """Open the chats in `folder`, mark answers that were cut off, forget chats that were deleted long ago.

        Args:
            folder: Belongs to the chats alone; made when it is missing.
            now_ms: Wall clock in ms since 1970.

        Raises:
            StoreError: They are open elsewhere, or of a newer version, or cannot be read or written.
        """
        self._folder = folder
        with storage_errors(folder):
            self._connection, self.notice = open_chats(folder, now_ms)
        try:
            self._tidy(now_ms)
        except StoreError as error:
            # A full disk, most likely: reading what is there still works.
            self.notice = f"{self.notice} {error.info.message}".strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def list_chats(self) -> tuple[tuple[ChatSummary, ...], int]:
        """Return the chats, the one used last first, and how many more there are that cannot be read."""
        where = "WHERE deleted_ms IS NULL ORDER BY touched DESC, seq DESC"
        with storage_errors(self._folder):
            return self._read("chats", _CHAT, where, (), _chat_from)

    def load_chat(self, chat_id: str) -> tuple[Conversation, int]:
        """Return a chat with its messages, and how many more it has that cannot be read.

        Raises:
            StoreError: There is no such chat, it is deleted, or the file cannot be read.
        """
        with storage_errors(self._folder):
            chats, _ = self._read(
                "chats", _CHAT, "WHERE id = ? AND deleted_ms IS NULL", (chat_id,), _chat_from
            )
            if not chats:
                raise StoreError("This chat is no longer there, or cannot be read. Choose another one.")
            where = "WHERE chat_id = ? ORDER BY seq"
            messages, unreadable = self._read("messages", _MESSAGE, where, (chat_id,), _message_from)
        return conversation_from(chats[0], messages), unreadable

    def add_chat(self, chat: ChatSummary) -> None:
        """Keep a new chat."""
        with self._writing():
            self._connection.execute(
                "INSERT INTO chats (id, title, created_ms, updated_ms, touched) VALUES (?, ?, ?, ?, 0)",
                (chat.id, clean_text(chat.title), chat.created_ms, chat.updated_ms),
            )
            self._touch(chat.id, chat.updated_ms)

    def add_message(self, message: Message) -> None:
        """Keep a new message of a chat that was added before."""
        with self._writing():
            self._connection.execute(
                """
                INSERT INTO messages
                    (id, chat_id, parent_id, role, created_ms, status, model, stats, error, text)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                (
                    message.id,
                    message.chat_id,
                    message.parent_id,
                    message.role.value,
                    message.created_ms,
                    *_mutable_fields(message),
                ),
            )
            self._touch(message.chat_id, message.created_ms)

    def flush_answer(self, message_id: str, text: str) -> None:
        """Keep what there is of an answer that is being written."""
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET text = ? WHERE id = ?", (clean_text(text), message_id)
            )
            self._must_have_changed()

    def finish_answer(self, message: Message) -> None:
        """Keep the final text, status, model, figures and error of an answer that was added before."""
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET status = ?, model = ?, stats = ?, error = ?, text = ? WHERE id = ?",
                (*_mutable_fields(message), message.id),
            )
            self._must_have_changed()

    def delete_chat(self, chat_id: str, now_ms: int) -> None:
        """Take a chat out of the list; for 30 days `restore_chat` brings it back."""
        with self._writing():
            self._connection.execute("UPDATE chats SET deleted_ms = ? WHERE id = ?", (now_ms, chat_id))
            self._must_have_changed()

    def restore_chat(self, chat_id: str) -> None:
        """Bring a deleted chat back, to the place in the list that it had."""
        with self._writing():
            self._connection.execute("UPDATE chats SET deleted_ms = NULL WHERE id = ?", (chat_id,))
            self._must_have_changed()

    def _tidy(self, now_ms: int) -> None:
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET status = ? WHERE status = ?",
                (MessageStatus.INTERRUPTED.value, MessageStatus.STREAMING.value),
            )
            old = (now_ms - KEEP_DELETED_MS,)
            self._connection.execute(
                "DELETE FROM messages WHERE chat_id IN (SELECT id FROM chats WHERE deleted_ms < ?)", old
            )
            self._connection.execute("DELETE FROM chats WHERE deleted_ms < ?", old)

    def _touch(self, chat_id: str, now_ms: int) -> None:
        # The list is ordered by a counter: a clock may be set back.
        self._connection.execute(
            "UPDATE chats SET updated_ms = ?, touched = (SELECT max(touched) + 1 FROM chats) WHERE id = ?",
            (now_ms, chat_id),
        )

    def _must_have_changed(self) -> None:
        if not self._connection.changes():
            raise StoreError("This chat is no longer there, so nothing was saved in it. Start a new chat.")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with storage_errors(self._folder), transaction(self._connection):
            yield

    def _read(
        self, table: str, select: str, where: str, values: tuple[str, ...], convert: Callable[[Any], _T]
    ) -> tuple[tuple[_T, ...], int]:
        """Return the rows that can be read, and the number of those that cannot."""
        try:
            return tuple(convert(row) for row in self._connection.execute(f"{select} {where}", values)), 0
        except _UNREADABLE:
            pass
        # One bad record ends a query; each for itself costs only that one.
        found, unreadable = [], 0
        keys = [seq for (seq,) in self._connection.execute(f"SELECT seq FROM {table} {where}", values)]  # noqa: S608
        for seq in keys:
            try:
                found.append(convert(self._connection.execute(f"{select} WHERE seq = ?", (seq,)).fetchone()))
            except _UNREADABLE:
                unreadable += 1
        return tuple(found), unreadable


def _chat_from(row: tuple[str, str, int, int]) -> ChatSummary:
    return ChatSummary(*row)


def _message_from(row: tuple[Any, ...]) -> Message:
    message_id, chat_id, parent_id, role, text, status, created_ms, model, stats, error = row
    return Message(
        message_id,
        chat_id,
        parent_id,
        Role(role),
        text,
        MessageStatus(status),
        created_ms,
        model,
        _stats_from(stats),
        error,
    )


def _mutable_fields(message: Message) -> tuple[str, str, str | None, str, str]:
    """Return status, model, stats, error and text as they are stored."""
    stats = None if message.stats is None else json.dumps(dataclasses.asdict(message.stats))
    return (
        message.status.value,
        clean_text(message.model),
        stats,
        clean_text(message.error),
        clean_text(message.text),
    )


def _stats_from(stored: str | None) -> DecodeStats | None:
    """Return an answer's figures; None when they are damaged, which must not cost the answer."""
    try:
        return None if stored is None else cast("DecodeStats", build(DecodeStats, json.loads(stored)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
