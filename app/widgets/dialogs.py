"""Sheets and message boxes."""

from __future__ import annotations

import importlib.metadata
import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths, Qt, QUrl, qVersion
from PySide6.QtGui import (
    QDesktopServices,
    QFont,
    QFontMetrics,
    QKeySequence,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMessageBox,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.i18n import tr
from app.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XXL
from mtplx_engine import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QAction, QPixmap


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


class AboutBox(MessageBox):
    """Icon, name, version and licences: Qt's asks to be named where the program names its own."""

    def __init__(self, icon: QPixmap, parent: QWidget) -> None:
        what = tr(
            "Chat with language models on your own computer, made fast by their own multi-token-prediction heads."
        )
        terms = tr("No account, no telemetry. Apache-2.0.")
        qt = tr("Made with Qt {qt} and PySide6, which are used under the LGPL 3.0.").format(qt=qVersion())
        more = [what, terms, qt]
        if (bundle := paths.bundle()) is not None:
            folder = bundle / "Contents" / "Resources" / "licences"
            more.append(tr("The licences of all parts are in {folder}.").format(folder=folder))
        super().__init__(f"MTPLX {importlib.metadata.version('mtplx')}", "\n\n".join(more), parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About MTPLX"))
        self.setIconPixmap(icon)


_LINK_WIDTH = 420
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
        label.setFixedWidth(_LINK_WIDTH)
        return label

    def _short(self, name: str, end: Qt.TextElideMode) -> str:
        return QFontMetrics(_bold(self.font())).elidedText(name, end, _LINK_WIDTH // 2)

    def _address_field(self) -> QPlainTextEdit:
        """Make a field with the whole address, broken anywhere, its host in bold."""
        address = self._url.toString(_ENCODED)
        field = QPlainTextEdit(address, self)
        field.setObjectName("field")
        field.setAccessibleName(tr("Address"))
        field.setReadOnly(True)
        field.setTabChangesFocus(True)
        field.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        field.setFixedWidth(_LINK_WIDTH)
        cursor = field.textCursor()
        name, host = self._url.userInfo(_ENCODED), self._url.host(_ENCODED)
        start = address.find(host, address.find("//") + 2 + len(name)) if host else 0
        cursor.setPosition(start)
        cursor.setPosition(start + len(host), QTextCursor.MoveMode.KeepAnchor)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        cursor.mergeCharFormat(bold)
        metrics = field.fontMetrics()
        lines = math.ceil(metrics.horizontalAdvance(address) / (_LINK_WIDTH - 2 * SPACE_XL))
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


class SaveSheet(QFileDialog):
    """Asks for the name of a file; `fileSelected` says it, and the sheet goes by itself.

    Args:
        title: What is saved.
        name: What the file is called unless the person says otherwise.
        kinds: What the kinds of files are called, by suffix.
        suffix: The kind that is chosen.
        parent: Whose sheet.
    """

    def __init__(self, title: str, name: str, kinds: Mapping[str, str], suffix: str, parent: QWidget) -> None:
        super().__init__(parent, title, documents())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        suffixes = {f"{words} (*{suffix})": suffix for suffix, words in kinds.items()}
        self.setNameFilters(list(suffixes))
        self.filterSelected.connect(lambda words: self.setDefaultSuffix(suffixes[words]))
        self.selectNameFilter(f"{kinds[suffix]} (*{suffix})")
        self.setDefaultSuffix(suffix)
        self.selectFile(name)


def documents() -> str:
    """Return the folder where files of the person belong."""
    return QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)


_Groups = tuple[tuple[str, tuple["QAction", ...]], ...]


class ShortcutSheet(QDialog):
    """Two columns of commands with their keys, each group under the name of its menu."""

    def __init__(self, groups: _Groups, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard Shortcuts"))
        named = [(name, [action for action in actions if action.shortcuts()]) for name, actions in groups]
        named = [(name, actions) for name, actions in named if actions]
        columns = QHBoxLayout()
        columns.setSpacing(SPACE_XXL)
        half = sum(len(actions) for _, actions in named) / 2
        left, right, rows = self._column(columns), self._column(columns), 0
        for name, actions in named:
            self._add(left if rows + len(actions) / 2 <= half else right, name, actions)
            rows += len(actions)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_L)
        layout.setSpacing(SPACE_XL)
        layout.addLayout(columns)
        layout.addWidget(buttons)

    def _column(self, columns: QHBoxLayout) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_XL)
        grid.setVerticalSpacing(SPACE_S)
        grid.setColumnStretch(0, 1)
        side = QVBoxLayout()
        side.addLayout(grid)
        side.addStretch(1)
        columns.addLayout(side, 1)
        return grid

    def _add(self, grid: QGridLayout, name: str, actions: list[QAction]) -> None:
        heading = QLabel(name, self)
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        heading.setFont(font)
        row = grid.rowCount()
        if row > 1:
            grid.setRowMinimumHeight(row, SPACE_S)
            row += 1
        grid.addWidget(heading, row, 0)
        for number, action in enumerate(actions, row + 1):
            grid.addWidget(QLabel(action.text(), self), number, 0)
            keys = QLabel(_keys(action), self)
            keys.setProperty("tone", "secondary")
            grid.addWidget(keys, number, 1, Qt.AlignmentFlag.AlignRight)


def _keys(action: QAction) -> str:
    """Return the keys of a command as this system writes them."""
    return tr(" or ").join(
        key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()[:2]
    )
