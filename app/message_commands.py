"""What the Chat menu does to the newest messages of the chat that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.chat.row_state import RowAction, RowState
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu

    from app.chat.conversation import Message
    from app.menus import Menus
    from app.pane.chat_pane import ChatPane
    from app.session.session import ChatSession


class MessageCommands(QObject):
    """Connects the commands about the last answer and the last question, and says when each of them can act.

    Args:
        menus: Has them.
        pane: Does them.
        session: Has the chat that is shown.
    """

    def __init__(self, menus: Menus, pane: ChatPane, session: ChatSession) -> None:
        super().__init__(menus)
        self._models_menu = menus.answer_with
        self._models: tuple[tuple[str, str], ...] | None = None  # as long as nobody has looked
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
        self._models_menu.aboutToShow.connect(self._offer_for_last)
        pane.transcript.models_wanted.connect(self._offer_models)
        menus.attach.triggered.connect(pane.composer.attach_requested)

    def refresh(self) -> None:
        """Let each command be chosen only while it can act."""
        states = self._session.edits.states()
        for action, command in self._actions.items():
            message = self._message(action)
            state = states.get(message.id, RowState()) if message else RowState()
            command.setEnabled(action in state.offers)
        self._models_menu.setEnabled(self._actions[RowAction.REGENERATE].isEnabled())

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Offer models to answer with: the name and the title of each."""
        self._models = choices

    def _act(self, action: RowAction) -> None:
        message = self._message(action)
        if message is not None:
            self._pane.act(action, message.id)

    def _offer_for_last(self) -> None:
        answer = self._session.edits.last_answer()
        if answer is not None:
            self._offer_models(self._models_menu, answer.id)

    def _offer_models(self, menu: QMenu, answer_id: str) -> None:
        """Fill a menu with the models that are installed, each to be asked once more for an answer."""
        menu.clear()
        for name, title in self._models or ():
            action = menu.addAction(title.replace("&", "&&"))
            action.triggered.connect(lambda _=False, name=name: self._pane.answer_with(answer_id, name))
        if menu.isEmpty():
            nothing = tr("Looking for models…") if self._models is None else tr("No model is installed")
            menu.addAction(nothing).setEnabled(False)

    def _message(self, action: RowAction) -> Message | None:
        edits = self._session.edits
        return edits.last_question() if action is RowAction.EDIT else edits.last_answer()
