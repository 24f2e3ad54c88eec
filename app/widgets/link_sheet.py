"""Asks before a link of an answer is opened, and shows where it really leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.translate import tr
from app.widgets.message_box import MessageBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class LinkSheet(MessageBox):
    """Shows the whole address, foreign letters spelled out so that none can pose as another."""

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        address = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        super().__init__(tr("Open this link in your browser?"), address, parent)
        self._url = url
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.open_button = self.addButton(tr("Open"), QMessageBox.ButtonRole.AcceptRole)
        self.addButton(QMessageBox.StandardButton.Cancel)
        self.setDefaultButton(QMessageBox.StandardButton.Cancel)
        self.accepted.connect(self._open)

    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)
