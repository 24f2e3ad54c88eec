"""Where a sent message is written anew, in its own place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.chat.message_edit import MessageEdit
from app.theme import SPACE_L, SPACE_M, SPACE_S
from app.translate import tr
from app.widgets.restyle import outline

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtWidgets import QWidget


class MessageEditor(QFrame):
    """A field with the message, and two buttons; Escape is Cancel.

    Signals:
        submitted(str): The message is to say this.
        cancelled: It is to stay as it was.
    """

    submitted = Signal(str)
    cancelled = Signal()

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.edit = MessageEdit(self)
        self.edit.setAccessibleName(tr("Edit your message"))
        self.edit.set_text(text)
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

    def _submit(self) -> None:
        if self.edit.toPlainText().strip():
            self.submitted.emit(self.edit.toPlainText())
