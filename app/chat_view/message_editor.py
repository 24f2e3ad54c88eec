"""Editor for a message that was sent, which replaces the message in its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton

from app.chat_view.attachments import LONGEST_PASTE, MAX_FILES, AttachmentChips, as_file, too_many
from app.chat_view.message_edit import MessageEdit, outline
from app.i18n import tr
from app.theme import SPACE_L, SPACE_M, SPACE_S
from app.widgets.feedback import show_input_error
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtWidgets import QWidget

    from app.chat.conversation import Attachment
    from app.theme import Theme


@dataclass(frozen=True, slots=True)
class EditedMessage:
    """Text and files of a message."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class MessageEditor(QFrame):
    """A field with the message, its files, and two buttons; Escape is Cancel.

    A text that is too long for the field becomes a file, whether it is pasted or was sent before. `submitted` carries
    an EditedMessage.
    """

    submitted = Signal(object)
    cancelled = Signal()

    def __init__(self, theme: Theme, original: EditedMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._original = self._initial = original
        if len(original.text) > LONGEST_PASTE:
            self._initial = EditedMessage("", (*original.attachments, as_file(original.text)))
        self.chips = AttachmentChips(theme, self, removable=True)
        self.chips.set_attachments(self._initial.attachments)
        self.edit = MessageEdit(self)
        self.edit.setAccessibleName(tr("Edit your message"))
        self.edit.set_text(self._initial.text)
        self.edit.longest_paste = LONGEST_PASTE
        self.edit.long_text_offered.connect(self._add_text)
        self.edit.submitted.connect(self._submit)
        self.edit.installEventFilter(self)
        self.cancel = QPushButton(tr("Cancel"), self)
        self.send = QPushButton(tr("Send"), self)
        self.cancel.clicked.connect(self.cancelled)
        self.send.clicked.connect(self._submit)
        buttons = hbox(1, self.cancel, self.send, spacing=SPACE_S)
        margins = (SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        vbox(self.chips, self.edit, buttons, parent=self, margins=margins, spacing=SPACE_S)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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
        """The edited message; the original one when nothing was changed."""
        now = EditedMessage(self.edit.toPlainText(), self.chips.attachments)
        return self._original if now == self._initial else now

    def _add_text(self, text: str) -> None:
        if len(self.chips.attachments) < MAX_FILES:
            self.chips.set_attachments((*self.chips.attachments, as_file(text)))
        else:
            show_input_error(self.edit, too_many())

    def _submit(self) -> None:
        written = self.written
        if written.text.strip() or written.attachments:
            self.submitted.emit(written)
