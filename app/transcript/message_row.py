"""What the rows of a transcript have in common: a message, where it stands, and what can be done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat.row_state import RowAction, RowState
from app.theme import SPACE_S

if TYPE_CHECKING:
    from app.chat.conversation import Message
    from app.theme import Theme
    from app.transcript.row_footer import RowFooter


class MessageRow(QWidget):
    """A message over its actions, which show while the row is pointed at.

    Attributes:
        message: As it stands.
        state: What can be done to it.
        footer: The actions; whoever inherits this makes them.

    Signals:
        chosen(RowAction, str): Something is to be done to the message with this id.
    """

    chosen = Signal(object, str)
    footer: RowFooter

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.message = message
        self.state = RowState()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(SPACE_S)

    @property
    def silent(self) -> bool:
        """Whether there is nothing but the actions to be seen."""
        return False

    def set_state(self, state: RowState) -> None:
        """Show where the message stands, and what can be done."""
        self.state = state
        self.footer.set_state(state)

    def copy(self) -> None:
        """Put the message on the clipboard as it was written: a question as typed, an answer as its markdown."""
        QGuiApplication.clipboard().setText(self.message.text)
        self.footer.say_copied()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the actions."""
        super().enterEvent(event)
        self.footer.reveal(shown=True)

    def leaveEvent(self, event: QEvent) -> None:
        """Hide the actions, unless there is nothing else to be seen."""
        super().leaveEvent(event)
        self.footer.reveal(shown=self.silent)

    def _choose(self, action: RowAction) -> None:
        if action is RowAction.COPY:
            self.copy()
        else:
            self.chosen.emit(action, self.message.id)
