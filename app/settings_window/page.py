"""One page of the settings window: labels at the left, what is set at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_XL, SPACE_XS
from app.widgets.choice_button import ChoiceButton

if TYPE_CHECKING:
    from app.theme import Theme

_LABEL_WIDTH, _FIELD_WIDTH = 150, 340
_FIELD_HEIGHT, _LINE = 28, 18
_FAULT_LINES = 3


class Page(QWidget):
    """A column of labels and a column of fields, in the order in which they are added."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_XL)
        self._grid.setHorizontalSpacing(SPACE_M)
        self._grid.setVerticalSpacing(SPACE_L)
        self._grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        self._grid.setColumnMinimumWidth(1, _FIELD_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self._cells: list[QVBoxLayout] = []

    def add_choice(self, name: str) -> ChoiceButton:
        """Add one of several things."""
        button = ChoiceButton(self._theme, name, self)
        button.setMaximumWidth(_FIELD_WIDTH)
        self._add(name, button)
        return button

    def add_switch(self, name: str, words: str) -> QCheckBox:
        """Add something that is or is not."""
        box = QCheckBox(words, self)
        box.setMinimumHeight(_FIELD_HEIGHT)
        box.setAccessibleName(words)
        self._add(name, box)
        return box

    def add_widget(self, name: str, widget: QWidget) -> None:
        """Add a field of any other kind."""
        self._add(name, widget)

    def add_note(self, words: str) -> None:
        """Add a sentence right under the last field."""
        label = self._words(words)
        label.setProperty("tone", "secondary")
        label.setFont(self._theme.font(SMALL_PX))
        self._cells[-1].addWidget(label)

    def add_fault(self) -> QLabel:
        """Add room for why something cannot be set, so that nothing moves when it is said."""
        label = self._words("")
        label.setProperty("tone", "bad")
        label.setMinimumHeight(label.fontMetrics().lineSpacing() * _FAULT_LINES)
        self._add("", label)
        return label

    def end(self) -> None:
        """Leave the rest of the page empty."""
        self._grid.setRowStretch(len(self._cells), 1)

    def _add(self, name: str, widget: QWidget) -> None:
        label = QLabel(f"{name}:" if name else "", self)
        label.setProperty("tone", "secondary")
        label.setBuddy(widget)
        label.setFixedHeight(_LINE if isinstance(widget, QLabel) else _FIELD_HEIGHT)
        cell = QVBoxLayout()
        cell.setSpacing(SPACE_XS)
        cell.addWidget(widget)
        row = len(self._cells)
        self._cells.append(cell)
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        self._grid.addLayout(cell, row, 1, Qt.AlignmentFlag.AlignTop)

    def _words(self, words: str) -> QLabel:
        label = QLabel(words, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label
