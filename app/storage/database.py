"""The database of chats: every read and write of chats, messages and drafts."""

from __future__ import annotations

import dataclasses
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from app.chat.conversation import Conversation, MessageStatus, clean_text, conversation_from, with_fresh_ids
from app.i18n import tr
from app.storage import records
from app.storage.errors import StoreError, storage_errors
from app.storage.recovery import DailyBackup
from app.storage.schema import open_chats, transaction
from app.storage.search_index import SearchIndex
from app.storage.stats import StatsTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from app.chat.conversation import ChatSummary, Message
    from app.chat.settings import ChatSettings


KEEP_DELETED_MS: Final = 30 * 24 * 3600 * 1000
# Key of the draft of the new chat, which is not stored yet.
UNBEGUN: Final = ""

_BRANCH = """
    WITH RECURSIVE branch (id) AS (
        SELECT ? UNION SELECT messages.id FROM messages JOIN branch ON messages.parent_id = branch.id
    )
"""

_PURGE = (
    "DELETE FROM messages WHERE chat_id IN (SELECT id FROM chats WHERE deleted_ms < :old)",
    "DELETE FROM messages WHERE deleted_ms < :old",
    "DELETE FROM attachments WHERE message_id NOT IN (SELECT id FROM messages)",
    "DELETE FROM chats WHERE deleted_ms < :old",
    "DELETE FROM drafts WHERE chat_id <> '' AND chat_id NOT IN (SELECT id FROM chats)",
)


class ChatDatabase:
    """The chats of one user. A write is on the disk when its method returns.

    All methods raise `StoreError` when the file cannot be read or written; a failed write had no effect.

    Attributes:
        notice: A sentence for the user about damage found when the file was opened; "" for none.
        figures: The statistics of all answers, also of those whose chats are deleted.
    """

    def __init__(self, folder: Path, now_ms: int) -> None:
        """Open the chats, mark unfinished answers as interrupted, purge chats deleted 30 days ago.

        The folder is made when it is missing; `now_ms` is wall clock in ms since 1970.

        Raises:
            StoreError: They are open elsewhere, of a newer format, or cannot be read or written.
        """
        self._folder = folder
        with storage_errors(folder):
            self._connection, self.notice = open_chats(folder, now_ms)
        self.figures = StatsTable(self._connection, folder)
        try:
            self._tidy(now_ms)
        except StoreError as error:
            # Most likely a full disk: reading still works.
            self.notice = f"{self.notice} {error.info.message}".strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def search_index(self) -> SearchIndex:
        return SearchIndex(self._connection, self._folder, distrusted=bool(self.notice))

    def daily_backup(self) -> DailyBackup:
        return DailyBackup(self._connection, self._folder)

    def list_chats(self) -> tuple[tuple[ChatSummary, ...], int]:
        """Return the chats, the one used last first, and the number of unreadable ones."""
        where = "WHERE deleted_ms IS NULL ORDER BY touched DESC, seq DESC"
        with storage_errors(self._folder):
            return records.read_chats(self._connection, where)

    def load_chat(self, chat_id: str) -> tuple[Conversation, int]:
        """Return a chat with its messages, and the number of its unreadable records.

        Raises:
            StoreError: There is no such chat, it is deleted, or the file cannot be read.
        """
        with storage_errors(self._folder):
            where = "WHERE id = ? AND deleted_ms IS NULL"
            chats, _ = records.read_chats(self._connection, where, chat_id)
            if not chats:
                raise StoreError(tr("This chat is no longer there, or cannot be read. Choose another one."))
            messages, unreadable = records.read_messages(self._connection, chat_id)
            leaf_id, settings = records.read_row(self._connection, records.CHOICES, chat_id) or (None, None)
        found = conversation_from(chats[0], messages)
        chosen, damaged = records.settings_from(settings)
        conversation = dataclasses.replace(
            found,
            leaf_id=next((each.id for each in messages if each.id.encode() == leaf_id), found.leaf_id),
            settings=chosen,
            draft=self.draft(chat_id),
        )
        return conversation, unreadable + damaged

    def draft(self, chat_id: str) -> str:
        """Return the unsent text of a chat, or of the `UNBEGUN` one."""
        with storage_errors(self._folder):
            row = records.read_row(self._connection, "SELECT CAST(text AS BLOB) FROM drafts WHERE chat_id = ?", chat_id)
        return "" if row is None else row[0].decode(errors="replace")

    def add_chat(self, chat: ChatSummary) -> None:
        with self._writing():
            self._insert_chat(chat)

    def set_title(self, chat_id: str, title: str) -> None:
        """Rename a chat; its position in the list stays."""
        self._change_chat(chat_id, "title", clean_text(title))

    def set_pinned(self, chat_id: str, *, pinned: bool) -> None:
        self._change_chat(chat_id, "pinned", int(pinned))

    def set_settings(self, chat_id: str, settings: ChatSettings) -> None:
        self._change_chat(chat_id, "settings", records.settings_row(settings))

    def set_leaf(self, chat_id: str, message_id: str) -> None:
        """Store the shown branch of a chat; the next added message becomes its leaf."""
        self._change_chat(chat_id, "leaf_id", message_id)

    def set_draft(self, chat_id: str, text: str) -> None:
        """Store the unsent text of a chat, or of the `UNBEGUN` one."""
        with self._writing():
            self._connection.execute("DELETE FROM drafts WHERE chat_id = ?", (chat_id,))
            self._insert_draft(chat_id, text)

    def add_message(self, message: Message) -> None:
        """Add a message to a stored chat, as the leaf of the shown branch."""
        with self._writing():
            self._insert(message)
            self._touch(message.chat_id, message.created_ms)
            self._connection.execute("UPDATE chats SET leaf_id = NULL WHERE id = ?", (message.chat_id,))

    def import_chats(self, conversations: Sequence[Conversation]) -> None:
        """Add whole chats, the last one first in the list; one whose ids are taken gets new ones."""
        with self._writing():
            for each in conversations:
                conversation = with_fresh_ids(each) if self._is_taken(each) else each
                self._insert_chat(conversation.chat)
                for message in conversation.messages:
                    self._insert(message)
                self._connection.execute(
                    "UPDATE chats SET leaf_id = ?, settings = ? WHERE id = ?",
                    (conversation.leaf_id, records.settings_row(conversation.settings), conversation.chat.id),
                )
                self._insert_draft(conversation.chat.id, conversation.draft)

    def flush_answer(self, message_id: str, text: str, thinking: str) -> None:
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET text = ?, thinking = ? WHERE id = ?",
                (clean_text(text), clean_text(thinking), message_id),
            )
            self._must_have_changed()

    def finish_answer(self, message: Message) -> None:
        """Store all changed columns of an answer."""
        fields = records.mutable_fields(message)
        with self._writing():
            self._connection.execute(
                f"UPDATE messages SET {', '.join(f'{name} = ?' for name in fields)} WHERE id = ?",  # noqa: S608
                (*fields.values(), message.id),
            )
            self._must_have_changed()

    def delete_message(self, message_id: str, now_ms: int) -> None:
        """Delete a message and its descendants; `restore_message` undoes it for 30 days."""
        with self._writing():
            self._connection.execute(
                f"{_BRANCH} UPDATE messages SET deleted_ms = ? WHERE deleted_ms IS NULL AND id IN branch",  # noqa: S608
                (message_id, now_ms),
            )
            self._must_have_changed()

    def restore_message(self, message_id: str) -> None:
        """Restore a message, and those deleted together with it."""
        with self._writing():
            self._connection.execute(
                f"""
                {_BRANCH} UPDATE messages SET deleted_ms = NULL
                WHERE deleted_ms = (SELECT deleted_ms FROM messages WHERE id = ?) AND id IN branch
                """,  # noqa: S608
                (message_id, message_id),
            )
            self._must_have_changed()

    def delete_chats(self, chat_ids: Sequence[str], now_ms: int) -> None:
        """Delete chats; `restore_chats` undoes it for 30 days."""
        self._set_deleted(chat_ids, now_ms)

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        """Restore deleted chats, at their former positions in the list."""
        self._set_deleted(chat_ids, None)

    def _insert_chat(self, chat: ChatSummary) -> None:
        self._connection.execute(
            "INSERT INTO chats (id, title, created_ms, updated_ms, pinned, touched) VALUES (?, ?, ?, ?, ?, 0)",
            (chat.id, clean_text(chat.title), chat.created_ms, chat.updated_ms, int(chat.pinned)),
        )
        self._touch(chat.id, chat.updated_ms)

    def _insert(self, message: Message) -> None:
        fields = records.message_fields(message)
        self._connection.execute(
            f"INSERT INTO messages ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})",  # noqa: S608
            tuple(fields.values()),
        )
        self._connection.executemany(
            "INSERT INTO attachments (message_id, name, size, text) VALUES (?, ?, ?, ?)",
            records.attachment_rows(message),
        )

    def _insert_draft(self, chat_id: str, text: str) -> None:
        if text:
            self._connection.execute("INSERT INTO drafts (chat_id, text) VALUES (?, ?)", (chat_id, clean_text(text)))

    def _is_taken(self, conversation: Conversation) -> bool:
        ids = json.dumps([conversation.chat.id, *(message.id for message in conversation.messages)])
        ((taken,),) = self._connection.execute(
            """
            SELECT EXISTS (SELECT 1 FROM chats WHERE id IN (SELECT value FROM json_each(:ids)))
                OR EXISTS (SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(:ids)))
            """,
            {"ids": ids},
        )
        return bool(taken)

    def _set_deleted(self, chat_ids: Sequence[str], deleted_ms: int | None) -> None:
        with self._writing():
            for chat_id in chat_ids:
                self._connection.execute("UPDATE chats SET deleted_ms = ? WHERE id = ?", (deleted_ms, chat_id))
                self._must_have_changed()

    def _change_chat(self, chat_id: str, column: str, value: str | int) -> None:
        with self._writing():
            self._connection.execute(f"UPDATE chats SET {column} = ? WHERE id = ?", (value, chat_id))  # noqa: S608
            self._must_have_changed()

    def _tidy(self, now_ms: int) -> None:
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET status = ? WHERE status = ?",
                (MessageStatus.INTERRUPTED.value, MessageStatus.STREAMING.value),
            )
            old = {"old": now_ms - KEEP_DELETED_MS}
            for statement in _PURGE:
                self._connection.execute(statement, old)

    def _touch(self, chat_id: str, now_ms: int) -> None:
        # The list is ordered by a counter: a clock may be set back.
        self._connection.execute(
            "UPDATE chats SET updated_ms = ?, touched = (SELECT max(touched) + 1 FROM chats) WHERE id = ?",
            (now_ms, chat_id),
        )

    def _must_have_changed(self) -> None:
        if not self._connection.changes():
            raise StoreError(tr("This chat is no longer there, so nothing was saved in it. Start a new chat."))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with storage_errors(self._folder), transaction(self._connection):
            yield
