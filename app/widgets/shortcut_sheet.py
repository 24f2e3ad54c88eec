"""All keys of the program on one sheet, as the menus have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout

from app.theme import SPACE_L, SPACE_S, SPACE_XL, SPACE_XXL
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QWidget

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
