"""The person's message in a transcript: its files, its bubble, and what can be done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.chat.row_state import RowAction, RowState
from app.composer.attachment_chips import AttachmentChips
from app.composer.message_editor import MessageEditor, Written
from app.theme import SPACE_S
from app.transcript.message_row import MessageRow
from app.transcript.row_footer import RowFooter
from app.transcript.user_bubble import UserBubble
from app.translate import tr

if TYPE_CHECKING:
    from app.chat.conversation import Message
    from app.services.settings import SendKey
    from app.theme import Theme

_ACTIONS = (RowAction.EDIT, RowAction.COPY, RowAction.DELETE)


class QuestionRow(MessageRow):
    """The bubble keeps to the right by itself; an editor takes its place while the message is edited.

    Signals:
        edited(str, Written): The message's id, and what it is to say instead.
        editing_ended: The editor is gone, and the keyboard with it.
    """

    edited = Signal(str, object)
    editing_ended = Signal()

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(theme, message, parent)
        self.editor: MessageEditor | None = None
        self.boundary = self._boundary_line()
        self.files = AttachmentChips(theme, self, right=True)
        self.files.set_attachments(message.attachments)
        self.bubble = UserBubble(message.text, theme.render_style(), self)
        self.footer = RowFooter(theme, _ACTIONS, _labels(), self, right=True)
        self.footer.chosen.connect(self._choose)
        self._layout.addWidget(self.boundary)
        self._layout.addWidget(self.files)
        self._layout.addWidget(self.bubble)
        self._layout.addWidget(self.footer)
        self.bubble.setVisible(bool(message.text))
        theme.restyling.add(self._restyle)

    def set_state(self, state: RowState) -> None:
        """Show where the message stands, and what can be done."""
        super().set_state(state)
        self.boundary.setVisible(state.boundary)

    @property
    def said(self) -> Written:
        """What the message says as it was sent."""
        return Written(self.message.text, self.message.attachments)

    @property
    def unsent(self) -> Written | None:
        """What is written in the place of the message; None where that is the message, or nothing."""
        written = self.editor.written if self.editor is not None else self.said
        return None if written == self.said else written

    def edit(self, send_key: SendKey, written: Written) -> None:
        """Put an editor with this into the place of the message; one that is there stays."""
        if self.editor is not None:
            return
        self.editor = MessageEditor(self._theme, written, self)
        self.editor.edit.send_key = send_key
        self.editor.submitted.connect(lambda written: self.edited.emit(self.message.id, written))
        self.editor.cancelled.connect(self.stop_editing)
        self._layout.insertWidget(self._layout.indexOf(self.footer), self.editor)
        self.files.hide()
        self.bubble.hide()
        self.footer.hide()
        self.editor.show()

    def stop_editing(self) -> None:
        """Show the message again as it was."""
        if self.editor is not None:
            self._layout.removeWidget(self.editor)
            self.editor.hide()
            self.editor.deleteLater()
            self.editor = None
            self.files.setVisible(bool(self.message.attachments))
            self.bubble.setVisible(bool(self.message.text))
            self.footer.show()
            self.editing_ended.emit()

    def _boundary_line(self) -> QWidget:
        line = QWidget(self)
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, SPACE_S)
        words = QLabel(tr("The model does not read what is above"), line)
        words.setProperty("tone", "secondary")
        read_all = QPushButton(tr("Read everything"), line)
        read_all.setObjectName("quiet")
        read_all.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        read_all.clicked.connect(lambda: self.chosen.emit(RowAction.READ_ALL, self.message.id))
        row.addStretch(1)
        row.addWidget(words)
        row.addWidget(read_all)
        row.addStretch(1)
        line.hide()
        return line

    def _restyle(self) -> None:
        self.bubble.set_style(self._theme.render_style())


def _labels() -> dict[RowAction, str]:
    return {
        RowAction.EDIT: tr("Edit message"),
        RowAction.COPY: tr("Copy message"),
        RowAction.DELETE: tr("Delete message and what follows"),
    }
