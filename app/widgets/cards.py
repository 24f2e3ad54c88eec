"""Groups of widgets on a page: cards with a warning, sections with a heading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtCore import SignalInstance

    from app.theme import Theme


_ICON = 20
_LONG_WORD = re.compile(r"\S{25,}")
_ZERO_WIDTH_SPACE = "\u200b"


class _WarningCard(QFrame):
    """A warning sign and a message as plain text."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("card")
        self._icon = QLabel(self)
        self._icon.setFixedSize(QSize(_ICON, _ICON))
        self.label = QLabel(text, self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        theme.restyling.add(self._tint)
        self._tint()

    def _button(self, name: str, description: str, act: Callable[[], None] | SignalInstance) -> QPushButton:
        button = QPushButton(name, self)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleDescription(description)
        button.clicked.connect(act)
        return button

    def _tint(self) -> None:
        scale = max(round(self.devicePixelRatioF()), 1)
        self._icon.setPixmap(self._theme.icons.pixmap("warning", self._theme.palette.warning, _ICON, scale))


class ChoiceCard(_WarningCard):
    """A warning with a button for each of `choices`, which are names and what they do; `buttons` has the same order."""

    def __init__(
        self,
        theme: Theme,
        text: str,
        choices: Sequence[tuple[str, Callable[[], None]]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, text, parent)
        self.buttons = tuple(self._button(name, text, act) for name, act in choices)
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        grid.setHorizontalSpacing(SPACE_M)
        grid.setVerticalSpacing(SPACE_S)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.label, 0, 1)
        grid.addLayout(hbox(*self.buttons, 1, spacing=SPACE_S), 1, 1)


class ErrorCard(_WarningCard):
    """An error message with at most one button, for the one thing to do about it."""

    pressed = Signal()

    def __init__(self, theme: Theme, text: str, action: str, parent: QWidget | None = None) -> None:
        # A label breaks lines only between words, and a path may be one long word.
        super().__init__(theme, _LONG_WORD.sub(_breakable, text), parent)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = self._button(action, text, self.pressed)
        self.set_action(action)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        layout.setSpacing(SPACE_M)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.label, 1)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)

    def set_action(self, action: str) -> None:
        """Name the button; "" hides it."""
        self.button.setText(action)
        self.button.setVisible(bool(action))


def _breakable(word: re.Match[str]) -> str:
    return _ZERO_WIDTH_SPACE.join(re.findall(r".{1,4}", word[0]))


class Section(QWidget):
    """A heading above rows of widgets."""

    def __init__(self, theme: Theme, heading: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(heading, self)
        self.heading.setFont(theme.font(SMALL_PX, QFont.Weight.DemiBold))
        self.heading.setProperty("tone", "secondary")
        self._column = vbox(self.heading, parent=self, spacing=SPACE_XS)

    def add(self, *widgets: QWidget) -> None:
        self._column.addLayout(hbox(*widgets, spacing=SPACE_XS))

    def add_stretch(self) -> None:
        """Keep the rows so far at the top."""
        self._column.addStretch(1)
