"""What the Chat menu does to the newest messages of the chat that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.chat.row_state import RowAction, RowState

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from app.chat.chat_pane import ChatPane
    from app.chat.conversation import Message
    from app.chat.session import ChatSession
    from app.menus import Menus


class MessageCommands(QObject):
    """Connects the commands about the last answer and the last question, and says when each of them can act."""

    def __init__(self, menus: Menus, pane: ChatPane, session: ChatSession) -> None:
        super().__init__(menus)
        self._session = session
        self._pane = pane
        self._actions: dict[RowAction, QAction] = {
            RowAction.EDIT: menus.edit_last,
            RowAction.REGENERATE: menus.answer_again,
            RowAction.FOCUSED: menus.answer_focused,
            RowAction.VARIED: menus.answer_varied,
            RowAction.RESUME: menus.resume_answer,
            RowAction.PREVIOUS: menus.previous_version,
            RowAction.NEXT: menus.next_version,
            RowAction.DETAILS: menus.details,
            RowAction.DELETE: menus.delete_answer,
        }
        for action, command in self._actions.items():
            command.triggered.connect(lambda _=False, action=action: self._act(action))
        menus.attach.triggered.connect(pane.composer.attach_requested)

    def refresh(self) -> None:
        """Let each command be chosen only while it can act."""
        states = self._session.edits.states()
        for action, command in self._actions.items():
            message = self._message(action)
            state = states.get(message.id, RowState()) if message else RowState()
            command.setEnabled(action in state.offers)

    def _act(self, action: RowAction) -> None:
        message = self._message(action)
        if message is not None:
            self._pane.act(action, message.id)

    def _message(self, action: RowAction) -> Message | None:
        edits = self._session.edits
        return edits.last_question() if action is RowAction.EDIT else edits.last_answer()
