"""Asks before a link of an answer is opened, and shows where it really leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class LinkSheet(QMessageBox):
    """Shows the whole address, foreign letters spelled out so that none can pose as another."""

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent)
        self._url = url
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText("Open this link in your browser?")
        self.setInformativeText(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
        self.open_button = self.addButton("Open", QMessageBox.ButtonRole.AcceptRole)
        self.addButton(QMessageBox.StandardButton.Cancel)
        self.setDefaultButton(QMessageBox.StandardButton.Cancel)
        self.accepted.connect(self._open)

    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)
