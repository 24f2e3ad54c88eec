"""Asks before a link of an answer is opened, and shows where it really leads."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QFont, QFontMetrics, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.theme import SPACE_L, SPACE_M, SPACE_XL
from app.translate import tr

_WIDTH = 420
_MOST_LINES = 6  # of an address that are seen at once
_ENCODED = QUrl.ComponentFormattingOption.FullyEncoded


class LinkSheet(QDialog):
    """Shows the whole address, and on a line of its own the one part that says whose it is.

    Foreign letters are spelled out so that none can pose as another.
    """

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent)
        self._url = url
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open Link"))
        self.question = self._label(tr("Open this link in your browser?"))
        self.owner = self._label("")
        self.owner.setFont(_bold(self.font()))
        # The end of a long host says whose it is.
        host = self._short(_owner(url), Qt.TextElideMode.ElideLeft)
        self.owner.setText(tr("It leads to {host}").format(host=host))
        self.address = self._address_field()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.open_button = buttons.addButton(tr("Open"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.open_button.setAutoDefault(False)
        cancel = buttons.button(QDialogButtonBox.StandardButton.Cancel)
        cancel.setDefault(True)
        cancel.setFocus()
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_L)
        layout.setSpacing(SPACE_M)
        for widget in (self.question, self.owner, self.address):
            layout.addWidget(widget)
        self.warning: QLabel | None = None
        if url.userInfo():
            name = self._short(url.userInfo(_ENCODED), Qt.TextElideMode.ElideRight)
            words = tr("“{name}” before the @ is not the site, only a name that is sent to it.")
            self.warning = self._label(words.format(name=name))
            layout.addWidget(self.warning)
        layout.addSpacing(SPACE_M)
        layout.addWidget(buttons)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetFixedSize)
        self.accepted.connect(self._open)

    def _label(self, text: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFixedWidth(_WIDTH)
        return label

    def _short(self, name: str, end: Qt.TextElideMode) -> str:
        return QFontMetrics(_bold(self.font())).elidedText(name, end, _WIDTH // 2)

    def _address_field(self) -> QPlainTextEdit:
        """Make a field with the whole address, broken anywhere, its host in bold."""
        address = self._url.toString(_ENCODED)
        field = QPlainTextEdit(address, self)
        field.setObjectName("field")
        field.setAccessibleName(tr("Address"))
        field.setReadOnly(True)
        field.setTabChangesFocus(True)
        field.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        field.setFixedWidth(_WIDTH)
        cursor = field.textCursor()
        name, host = self._url.userInfo(_ENCODED), self._url.host(_ENCODED)
        start = address.find(host, address.find("//") + 2 + len(name)) if host else 0
        cursor.setPosition(start)
        cursor.setPosition(start + len(host), QTextCursor.MoveMode.KeepAnchor)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        cursor.mergeCharFormat(bold)
        metrics = field.fontMetrics()
        lines = math.ceil(metrics.horizontalAdvance(address) / (_WIDTH - 2 * SPACE_XL))
        field.setFixedHeight(min(lines, _MOST_LINES) * metrics.lineSpacing() + SPACE_L)
        return field

    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)


def _bold(font: QFont) -> QFont:
    result = QFont(font)
    result.setWeight(QFont.Weight.DemiBold)
    return result


def _owner(url: QUrl) -> str:
    """Return whose address it is: the host, or who is written to."""
    return url.host(_ENCODED) or url.path(_ENCODED)
