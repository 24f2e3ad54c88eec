"""The chats that are at hand: shown, empty, with an answer to come, or with something that is not on the disk."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from app.chat.conversation import UNTITLED, ChatSummary, Conversation, new_id

if TYPE_CHECKING:
    from collections.abc import Container

    from app.chat.chat_settings import ChatSettings
    from app.chat.conversation import Message


class Desk:
    """Holds whole chats in memory.

    Attributes:
        blank: The chat that "new chat" shows, until something is asked in it.
        shown: The chat that is shown.
        deleted: Ids of chats that were deleted since the start.
    """

    def __init__(self) -> None:
        self.blank = _empty_chat()
        self.shown = self.blank
        self.deleted: set[str] = set()
        self._background: dict[str, Conversation] = {}
        self._changes: dict[str, int] = {}  # the last one that may be about a chat in the background

    @property
    def is_blank(self) -> bool:
        """Whether the empty chat is shown."""
        return self.shown.chat.id == self.blank.chat.id

    def begin(self, title: str) -> None:
        """Make the empty chat that is shown a chat with a title; there is another empty one from now on."""
        self.put(dataclasses.replace(self.shown, chat=dataclasses.replace(self.shown.chat, title=title)))
        self.blank = _empty_chat()

    def show(self, conversation: Conversation, changes: int) -> None:
        """Show another chat; the one that was shown, with `changes` to save, stays at hand for `let_go`."""
        if not self.is_blank:
            self._background[self.shown.chat.id] = self.shown
            self.note_changes(self.shown.chat.id, changes)
        self.shown = conversation

    def note_changes(self, chat_id: str, changes: int) -> None:
        """Note how many changes must be on the disk before that chat is there as it is here."""
        self._changes[chat_id] = changes

    def at_hand(self, chat_id: str) -> Conversation | None:
        """Return a chat as it is in memory, if it is."""
        return self.shown if chat_id == self.shown.chat.id else self._background.get(chat_id)

    def begun(self) -> tuple[Conversation, ...]:
        """Return the chats at hand in which anything was said, without those that are deleted."""
        chats = (self.shown, *self._background.values())
        return tuple(each for each in chats if each.messages and each.chat.id not in self.deleted)

    def take(self, chat_id: str) -> Conversation | None:
        """Take a chat that is not shown off the desk."""
        return self._background.pop(chat_id, None)

    def put(self, conversation: Conversation) -> None:
        """Take the newer version of a chat, wherever it is; one that is not at hand is not taken."""
        chat_id = conversation.chat.id
        if chat_id == self.blank.chat.id:
            self.blank = conversation
        if chat_id == self.shown.chat.id:
            self.shown = conversation
        elif chat_id in self._background:
            self._background[chat_id] = conversation

    def put_chat(self, chat: ChatSummary) -> None:
        """Take the newer title and times of a chat, if it is at hand."""
        at_hand = self.at_hand(chat.id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, chat=chat))

    def put_settings(self, chat_id: str, settings: ChatSettings) -> None:
        """Take the newer settings of a chat that is not shown, if it is at hand."""
        at_hand = self.blank if chat_id == self.blank.chat.id else self._background.get(chat_id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, settings=settings))

    def put_message(self, message: Message) -> None:
        """Take the newer version of a message; one that was deleted stays so."""
        chats = (self.shown, self._background.get(message.chat_id))
        for chat in chats:
            if chat is not None and any(each.id == message.id for each in chat.messages):
                self.put(chat.replace_message(message))

    def let_go(self, busy: Container[str], settled: int) -> None:
        """Forget the chats that are not shown nor `busy`, and need no more than `settled` changes on the disk."""
        self._background = {
            key: chat for key, chat in self._background.items() if key in busy or self._changes[key] > settled
        }
        self._changes = {key: self._changes[key] for key in self._background}


def now_ms() -> int:
    """Return the wall clock in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


def _empty_chat() -> Conversation:
    now = now_ms()
    return Conversation(ChatSummary(new_id(), UNTITLED, now, now))
