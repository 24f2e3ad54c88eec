"""What is typed and not sent, kept for every chat, here and on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

if TYPE_CHECKING:
    from app.chat.conversation import Conversation
    from app.composer.composer import Composer
    from app.session.session import ChatSession

_PAUSE_MS = 300  # a text of megabytes is not copied with every key


class DraftKeeper(QObject):
    """Puts the draft of the chat that is shown into the composer, and keeps it as it is typed."""

    def __init__(self, composer: Composer, session: ChatSession) -> None:
        super().__init__(composer)
        self._composer = composer
        self._session = session
        self._chat_id = ""
        self._showing = False
        self._drafts: dict[str, str] = {}  # of chats that were shown since the start
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.keep)
        composer.edit.textChanged.connect(self._changed)

    def show(self, conversation: Conversation) -> None:
        """Keep the draft of the chat that was shown, and show that of another one."""
        self.keep()
        self._drafts[self._chat_id] = self._composer.text()
        self._chat_id = conversation.chat.id
        self._showing = True  # what is kept already is not kept again
        self._composer.set_text(self._drafts.pop(self._chat_id, conversation.draft))
        self._showing = False

    def restore(self, text: str) -> None:
        """Show what was typed before the last end of the program, unless the user was faster."""
        if not self._session.shown.messages and not self._composer.text():
            self._composer.set_text(text)

    def keep(self) -> None:
        """Keep what is typed now, if anything has changed."""
        if self._pause.isActive():
            self._pause.stop()
            self._session.set_draft(self._chat_id, self._composer.text())

    def _changed(self) -> None:
        if self._showing:
            return
        if not self._pause.isActive():
            self._pause.start()
        if self._composer.edit.document().isEmpty():
            self.keep()  # what was sent must not come back
