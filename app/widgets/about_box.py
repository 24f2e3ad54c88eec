"""What the program is, in which version, and under which licence."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_WIDTH = 340
_WORDS = (
    "Chat with language models on your own computer, made fast by their own multi-token-prediction heads.\n\n"
    "No account, no telemetry. Apache-2.0."
)


class AboutBox(QMessageBox):
    """Name, version and licence; wide enough to be read."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("About MTPLX")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(f"MTPLX {importlib.metadata.version('mtplx')}")
        self.setInformativeText(_WORDS)
        for label in self.findChildren(QLabel):
            if label.text() == _WORDS:
                label.setMinimumWidth(_WIDTH)
