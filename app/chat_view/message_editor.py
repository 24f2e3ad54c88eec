"""Where a sent message is written anew, in its own place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.chat_view.attachments import LONGEST_PASTE, MOST_FILES, AttachmentChips, as_file, too_many
from app.chat_view.message_edit import MessageEdit, outline
from app.i18n import tr
from app.theme import SPACE_L, SPACE_M, SPACE_S
from app.widgets.feedback import show_input_error

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtWidgets import QWidget

    from app.chat.conversation import Attachment
    from app.theme import Theme


@dataclass(frozen=True, slots=True)
class EditedMessage:
    """What a message says.

    Attributes:
        text: Its words.
        attachments: Its files.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()


class MessageEditor(QFrame):
    """A field with the message, its files, and two buttons; Escape is Cancel.

    A text that the field could not bear is one of the files, whether it is pasted or was there before.

    Signals:
        submitted(Written): The message is to say this.
        cancelled: It is to stay as it was.
    """

    submitted = Signal(object)
    cancelled = Signal()

    def __init__(self, theme: Theme, original: EditedMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._original = self._begun = original
        if len(original.text) > LONGEST_PASTE:
            self._begun = EditedMessage("", (*original.attachments, as_file(original.text)))
        self.chips = AttachmentChips(theme, self, removable=True)
        self.chips.set_attachments(self._begun.attachments)
        self.edit = MessageEdit(self)
        self.edit.setAccessibleName(tr("Edit your message"))
        self.edit.set_text(self._begun.text)
        self.edit.longest_paste = LONGEST_PASTE
        self.edit.long_text_offered.connect(self._add_text)
        self.edit.submitted.connect(self._submit)
        self.edit.installEventFilter(self)
        self.cancel = QPushButton(tr("Cancel"), self)
        self.send = QPushButton(tr("Send"), self)
        self.cancel.clicked.connect(self.cancelled)
        self.send.clicked.connect(self._submit)
        row = QHBoxLayout()
        row.setSpacing(SPACE_S)
        row.addStretch(1)
        row.addWidget(self.cancel)
        row.addWidget(self.send)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self.chips)
        layout.addWidget(self.edit)
        layout.addLayout(row)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Outline the field, and take Escape before the menus do, unless an input method is composing."""
        outline(self, event)
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and not self.edit.composing:
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.cancelled.emit()
                return True
        return super().eventFilter(watched, event)

    @property
    def written(self) -> EditedMessage:
        """What the message is to say; what it said before where nothing was changed."""
        now = EditedMessage(self.edit.toPlainText(), self.chips.attachments)
        return self._original if now == self._begun else now

    def _add_text(self, text: str) -> None:
        if len(self.chips.attachments) < MOST_FILES:
            self.chips.set_attachments((*self.chips.attachments, as_file(text)))
        else:
            show_input_error(self.edit, too_many())

    def _submit(self) -> None:
        written = self.written
        if written.text.strip() or written.attachments:
            self.submitted.emit(written)
