"""Message boxes, and the sheets for links, files to save, and keyboard shortcuts."""

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
from app.widgets.layouts import hbox, vbox
from mtplx_engine import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QAction, QPixmap


_WIDTH = 360


class MessageBox(QMessageBox):
    """A message box of plain text; Qt's own is as narrow as its title."""

    def __init__(self, text: str, more: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setInformativeText(more)
        for label in self.findChildren(QLabel):
            if label.text() == more:
                label.setMinimumWidth(_WIDTH)


class AboutBox(MessageBox):
    """Icon, version and licences; it names Qt as the LGPL asks."""

    def __init__(self, icon: QPixmap, parent: QWidget) -> None:
        purpose = tr(
            "Chat with language models on your own computer, made fast by their own multi-token-prediction heads."
        )
        terms = tr("No account, no telemetry. Apache-2.0.")
        qt = tr("Made with Qt {qt} and PySide6, which are used under the LGPL 3.0.").format(qt=qVersion())
        more = [purpose, terms, qt]
        if (bundle := paths.bundle()) is not None:
            folder = bundle / "Contents" / "Resources" / "licences"
            more.append(tr("The licences of all parts are in {folder}.").format(folder=folder))
        super().__init__(f"MTPLX {importlib.metadata.version('mtplx')}", "\n\n".join(more), parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About MTPLX"))
        self.setIconPixmap(icon)


_LINK_WIDTH = 420
_MAX_LINES = 6  # of the address, before its field scrolls
_ENCODED = QUrl.ComponentFormattingOption.FullyEncoded


class LinkSheet(QDialog):
    """Asks before a link is opened: shows its whole address, and its host on a line of its own.

    Letters beyond ASCII are shown encoded, so that no host can look like another.
    """

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent)
        self._url = url
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open Link"))
        self.question = self._label(tr("Open this link in your browser?"))
        self.owner = self._label("")
        self.owner.setFont(_bold(self.font()))
        # The end of a host names its owner.
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
        margins = (SPACE_XL, SPACE_XL, SPACE_XL, SPACE_L)
        layout = vbox(self.question, self.owner, self.address, parent=self, margins=margins, spacing=SPACE_M)
        self.warning: QLabel | None = None
        if url.userInfo():
            name = self._short(url.userInfo(_ENCODED), Qt.TextElideMode.ElideRight)
            warning = tr("“{name}” before the @ is not the site, only a name that is sent to it.")
            self.warning = self._label(warning.format(name=name))
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
        """Make a field with the whole address, wrapped anywhere, its host in bold."""
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
        field.setFixedHeight(min(lines, _MAX_LINES) * metrics.lineSpacing() + SPACE_L)
        return field

    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)


def _bold(font: QFont) -> QFont:
    result = QFont(font)
    result.setWeight(QFont.Weight.DemiBold)
    return result


def _owner(url: QUrl) -> str:
    return url.host(_ENCODED) or url.path(_ENCODED)


class SaveSheet(QFileDialog):
    """Asks for the path of a file to save, which `fileSelected` gives; deletes itself when it is closed.

    Args:
        name: Suggested file name.
        kinds: Names of the file types, by suffix.
        suffix: The type that is chosen at first.
    """

    def __init__(self, title: str, name: str, kinds: Mapping[str, str], suffix: str, parent: QWidget) -> None:
        super().__init__(parent, title, documents())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        suffixes = {f"{kind} (*{suffix})": suffix for suffix, kind in kinds.items()}
        self.setNameFilters(list(suffixes))
        self.filterSelected.connect(lambda kind: self.setDefaultSuffix(suffixes[kind]))
        self.selectNameFilter(f"{kinds[suffix]} (*{suffix})")
        self.setDefaultSuffix(suffix)
        self.selectFile(name)


def documents() -> str:
    return QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)


_Groups = tuple[tuple[str, tuple["QAction", ...]], ...]


class ShortcutSheet(QDialog):
    """Lists all commands with their keys in two columns, each group under the name of its menu."""

    def __init__(self, groups: _Groups, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard Shortcuts"))
        named = [(name, [action for action in actions if action.shortcuts()]) for name, actions in groups]
        named = [(name, actions) for name, actions in named if actions]
        columns = hbox(spacing=SPACE_XXL)
        half = sum(len(actions) for _, actions in named) / 2
        left, right, rows = self._column(columns), self._column(columns), 0
        for name, actions in named:
            self._add(left if rows + len(actions) / 2 <= half else right, name, actions)
            rows += len(actions)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        margins = (SPACE_XL, SPACE_XL, SPACE_XL, SPACE_L)
        vbox(columns, buttons, parent=self, margins=margins, spacing=SPACE_XL)

    def _column(self, columns: QHBoxLayout) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_XL)
        grid.setVerticalSpacing(SPACE_S)
        grid.setColumnStretch(0, 1)
        columns.addLayout(vbox(grid, 1), 1)
        return grid

    def _add(self, grid: QGridLayout, name: str, actions: list[QAction]) -> None:
        heading = QLabel(name, self)
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        heading.setFont(font)
        first = grid.rowCount()
        if first > 1:
            grid.setRowMinimumHeight(first, SPACE_S)
            first += 1
        grid.addWidget(heading, first, 0)
        for number, action in enumerate(actions, first + 1):
            grid.addWidget(QLabel(action.text(), self), number, 0)
            keys = QLabel(_keys(action), self)
            keys.setProperty("tone", "secondary")
            grid.addWidget(keys, number, 1, Qt.AlignmentFlag.AlignRight)


def _keys(action: QAction) -> str:
    return tr(" or ").join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()[:2])
