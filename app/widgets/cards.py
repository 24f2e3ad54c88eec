"""Cards and sections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.theme import Theme


_ICON = 20


class ChoiceCard(QFrame):
    """A sentence, and a button for each choice.

    Attributes:
        label: The sentence.
        buttons: In the order of the choices.
    """

    def __init__(
        self,
        theme: Theme,
        sentence: str,
        choices: Sequence[tuple[str, Callable[[], None]]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("card")
        self._icon = QLabel(self)
        self._icon.setFixedSize(QSize(_ICON, _ICON))
        self.label = QLabel(sentence, self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.buttons = tuple(self._button(name, act) for name, act in choices)
        row = QHBoxLayout()
        row.setSpacing(SPACE_S)
        for button in self.buttons:
            row.addWidget(button)
        row.addStretch(1)
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        grid.setHorizontalSpacing(SPACE_M)
        grid.setVerticalSpacing(SPACE_S)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.label, 0, 1)
        grid.addLayout(row, 1, 1)
        theme.restyling.add(self._tint)
        self._tint()

    def _button(self, name: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(name, self)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleDescription(self.label.text())
        button.clicked.connect(act)
        return button

    def _tint(self) -> None:
        scale = max(round(self.devicePixelRatioF()), 1)
        self._icon.setPixmap(self._theme.icons.pixmap("warning", self._theme.palette.warning, _ICON, scale))


_LONG_WORD = re.compile(r"\S{25,}")
_MAY_BREAK = "\u200b"


class ErrorCard(QFrame):
    """A sentence and at most one button.

    Signals:
        pressed: The person wants to do that one thing.
    """

    pressed = Signal()

    def __init__(self, theme: Theme, sentence: str, action: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("card")
        self._icon = QLabel(self)
        self._icon.setFixedSize(QSize(_ICON, _ICON))
        # A label breaks lines only between words, and a path may be one long word.
        self.label = QLabel(_LONG_WORD.sub(_breakable, sentence), self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(action, self)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.setAccessibleDescription(sentence)
        self.button.clicked.connect(self.pressed)
        self.set_action(action)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        layout.setSpacing(SPACE_M)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.label, 1)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        theme.restyling.add(self._tint)
        self._tint()

    def set_action(self, action: str) -> None:
        """Name the button, or take it away with ""."""
        self.button.setText(action)
        self.button.setVisible(bool(action))

    def _tint(self) -> None:
        scale = max(round(self.devicePixelRatioF()), 1)
        self._icon.setPixmap(self._theme.icons.pixmap("warning", self._theme.palette.warning, _ICON, scale))


def _breakable(word: re.Match[str]) -> str:
    return _MAY_BREAK.join(re.findall(r".{1,4}", word[0]))


class Section(QWidget):
    """A heading, and below it what belongs together.

    Attributes:
        heading: The words above.
    """

    def __init__(self, theme: Theme, heading: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(heading, self)
        self.heading.setFont(theme.font(SMALL_PX, QFont.Weight.DemiBold))
        self.heading.setProperty("tone", "secondary")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_XS)
        self._column.addWidget(self.heading)

    def add(self, *widgets: QWidget) -> None:
        """Put widgets side by side under what is there."""
        row = QHBoxLayout()
        row.setSpacing(SPACE_XS)
        for widget in widgets:
            row.addWidget(widget)
        self._column.addLayout(row)

    def add_stretch(self) -> None:
        """Keep what is there at the top."""
        self._column.addStretch(1)
