"""Tabs that switch between the pages of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QToolButton, QWidget

from app.theme import CODE_PX, SPACE_S, SPACE_XL, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.theme import Theme


_HEIGHT = 28


class PageTabs(QWidget):
    """A row of buttons of which one is down, at first number 0; the Tab key reaches that one, the arrows the others.

    `turned` tells that a page was chosen, perhaps the current one.
    """

    turned = Signal(int)

    def __init__(self, theme: Theme, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("pageTabs")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._group = QButtonGroup(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(SPACE_XL - SPACE_S, SPACE_S, SPACE_XL, SPACE_S)
        self._row.setSpacing(SPACE_XS)
        self.buttons = tuple(self._tab(name) for name in names)
        for index, button in enumerate(self.buttons):
            self._group.addButton(button, index)
            self._row.addWidget(button)
        self._row.addStretch(1)
        self._group.idClicked.connect(self._turn)
        self.buttons[0].setChecked(True)
        self._reach_chosen()

    @property
    def chosen(self) -> int:
        return self._group.checkedId()

    def choose(self, index: int) -> None:
        self.buttons[index].click()

    def rename(self, index: int, name: str) -> None:
        self.buttons[index].setText(name)
        self.buttons[index].setAccessibleName(name)

    def add_at_end(self, widget: QWidget) -> None:
        self._row.addWidget(widget)

    def _tab(self, name: str) -> QToolButton:
        tab = QToolButton(self)
        tab.setObjectName("pageTab")
        tab.setText(name)
        tab.setAccessibleName(name)
        tab.setCheckable(True)
        tab.setFont(self._theme.font(CODE_PX))
        tab.setFixedHeight(_HEIGHT)
        return tab

    def _turn(self, index: int) -> None:
        self._reach_chosen()
        self.turned.emit(index)

    def _reach_chosen(self) -> None:
        """Let Tab reach only the chosen button, as Qt does once a button has had the focus."""
        for tab in self.buttons:
            is_reached = tab.isChecked()
            tab.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_reached else Qt.FocusPolicy.ClickFocus)
