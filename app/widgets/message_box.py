"""A sentence with more about it below, wide enough to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_WIDTH = 360


class MessageBox(QMessageBox):
    """A message box that takes nothing as HTML; Qt's own is as narrow as its title."""

    def __init__(self, text: str, more: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setInformativeText(more)
        for label in self.findChildren(QLabel):
            if label.text() == more:
                label.setMinimumWidth(_WIDTH)
