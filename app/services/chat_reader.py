"""Chats and messages as they stand in the file; what cannot be read is counted and passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.services import chat_records
from app.services.careful_read import read_rows

if TYPE_CHECKING:
    import apsw

    from app.chat.conversation import ChatSummary, Message


def read_chats(connection: apsw.Connection, where: str, *values: str) -> tuple[tuple[ChatSummary, ...], int]:
    """Return the chats that `where` chooses, with its `values`, and how many of them cannot be read."""
    return read_rows(connection, "chats", chat_records.CHAT, where, chat_records.chat_from, *values)


def read_messages(connection: apsw.Connection, chat_id: str) -> tuple[tuple[Message, ...], int]:
    """Return the messages of a chat with their files, and how many records of both cannot be read."""
    messages, unreadable = read_rows(
        connection,
        "messages",
        chat_records.MESSAGE,
        "WHERE chat_id = ? AND deleted_ms IS NULL ORDER BY seq",
        chat_records.message_from,
        chat_id,
    )
    attachments, unreadable_too = read_rows(
        connection,
        "attachments",
        chat_records.ATTACHMENT,
        "WHERE message_id IN (SELECT id FROM messages WHERE chat_id = ? AND deleted_ms IS NULL) ORDER BY seq",
        chat_records.attachment_from,
        chat_id,
    )
    return chat_records.with_attachments(messages, attachments), unreadable + unreadable_too
