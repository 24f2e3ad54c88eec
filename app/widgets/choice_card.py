"""What cannot be done, in one sentence, with the ways out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton

from app.theme import SPACE_L, SPACE_M, SPACE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QWidget

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
