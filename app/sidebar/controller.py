"""Actions on chats from the sidebar: rename, pin, delete, search, open at a message."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import newest_leaf, up_to
from app.i18n import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.chat.conversation import ChatSummary, Conversation
    from app.session.session import ChatSession
    from app.sidebar.chat_list import ChatList
    from app.sidebar.sidebar import Sidebar
    from app.storage.store import Store
    from app.widgets.feedback import UndoToast


class SidebarController(QObject):
    """Connects the sidebar to the store and the session; `message_wanted` scrolls the shown chat to a message."""

    message_wanted = Signal(str)

    def __init__(self, sidebar: Sidebar, toast: UndoToast, store: Store, session: ChatSession, chats: ChatList) -> None:
        super().__init__(sidebar)
        self._sidebar = sidebar
        self._toast = toast
        self._store = store
        self._session = session
        self._chats = chats
        self._target = ("", "")  # ids of the chat being opened, and of the message to scroll to
        self._connect()

    def delete(self, chat_ids: Iterable[str]) -> None:
        """Delete chats, and offer undo."""
        gone = [chat for chat_id in chat_ids if (chat := self._chats.chat(chat_id)) is not None]
        if not gone:
            return
        shown = self._session.shown.chat.id
        ids = [chat.id for chat in gone]
        self._session.delete_chats(ids)
        self._chats.remove(*ids)
        self._sidebar.search_again()
        text = (
            tr("Deleted “{title}”").format(title=gone[0].title)
            if len(gone) == 1
            else tr("Deleted {count} chats").format(count=len(gone))
        )
        back_to = shown if shown in ids else ""
        self._toast.offer_undo(text, lambda: self._restore(gone, back_to))

    def rename(self, chat_id: str, title: str) -> None:
        self._change(chat_id, title=title)
        self._store.set_title(chat_id, title)

    def toggle_pin(self, chat_id: str) -> None:
        chat = self._chats.chat(chat_id)
        if chat is not None:
            self._change(chat_id, pinned=not chat.pinned)
            self._store.set_pinned(chat_id, pinned=not chat.pinned)

    def open_at(self, chat_id: str, message_id: str) -> None:
        """Open a chat at a message of any branch; "" for its end."""
        self._target = (chat_id, message_id)
        if chat_id == self._session.shown.chat.id:
            self._go_to_target(self._session.shown)
        else:
            self._session.open_chat(chat_id)

    # ------------------------------------------------------------ private

    def _connect(self) -> None:
        sidebar, store = self._sidebar, self._store
        self._chats.renamed.connect(self.rename)
        sidebar.deletion_requested.connect(self.delete)
        sidebar.pin_requested.connect(self.toggle_pin)
        sidebar.passage_chosen.connect(self.open_at)
        sidebar.searched.connect(store.search)
        store.found.connect(sidebar.show_found)
        self._session.opened.connect(self._go_to_target)

    def _change(self, chat_id: str, **fields: str | bool) -> None:
        chat = self._chats.chat(chat_id)
        if chat is not None:
            changed = dataclasses.replace(chat, **fields)  # type: ignore[arg-type]
            self._chats.put(changed)
            self._session.take_chat(changed)
            self._sidebar.search_again()

    def _restore(self, chats: list[ChatSummary], shown: str) -> None:
        self._session.restore_chats([chat.id for chat in chats])
        self._chats.put(*chats)
        self._sidebar.search_again()
        if shown:
            self._session.open_chat(shown)

    def _go_to_target(self, conversation: Conversation) -> None:
        chat_id, message_id = self._target
        self._target = ("", "")
        known = any(message.id == message_id for message in conversation.messages)
        if conversation.chat.id != chat_id or not known:
            return
        if all(message.id != message_id for message in conversation.path()):
            self._session.rearrange(up_to(conversation, newest_leaf(conversation, message_id)))
        self.message_wanted.emit(message_id)
