"""Chats for tests of the store."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import apsw

from app.chat.conversation import ChatSummary, Message, MessageStatus, Role
from app.chat.generation import Generation, GenerationRequest
from app.chat.settings import ChatSettings
from app.storage import schema

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.database import ChatDatabase


NOW = 1_760_000_000_000


def chat(name: str, at_ms: int = NOW) -> ChatSummary:
    """Return a chat called `name`."""
    return ChatSummary(name, f"Title {name}", at_ms, at_ms)


def message(name: str, chat_id: str = "c", parent_id: str | None = None, **fields: object) -> Message:
    """Return a message of the person called `name`, unless `fields` say otherwise."""
    base = Message(name, chat_id, parent_id, Role.USER, f"text {name}", MessageStatus.DONE, NOW)
    return dataclasses.replace(base, **fields)


def generation(answer_id: str) -> Generation:
    """Return an answer in the making."""
    answer = message(answer_id, role=Role.ASSISTANT, text="", status=MessageStatus.STREAMING)
    return Generation(1, "question", answer, GenerationRequest((), ChatSettings()))


def listed(database: ChatDatabase) -> list[str]:
    """Return the ids of the chats as they are listed, all of which can be read."""
    chats, unreadable = database.list_chats()
    assert unreadable == 0
    return [each.id for each in chats]


def texts(database: ChatDatabase, chat_id: str = "c") -> list[str]:
    """Return the texts of a chat in the order in which they were written, all of which can be read."""
    conversation, unreadable = database.load_chat(chat_id)
    assert unreadable == 0
    return [each.text for each in conversation.messages]


def stored_ids(folder: Path) -> list[str]:
    """Return the ids of all messages in a closed file."""
    return [each for (each,) in edit(folder, "SELECT id FROM messages ORDER BY seq")]


def edit(folder: Path, *statements: str) -> list[tuple[apsw.SQLiteValue, ...]]:
    """Look at or change a closed file behind the app's back; return the rows of the last statement."""
    connection = apsw.Connection(str(folder / schema.NAME))
    rows: list[tuple[apsw.SQLiteValue, ...]] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows
