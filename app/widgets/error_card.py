"""What went wrong, in one sentence with one thing to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton

from app.theme import SPACE_L, SPACE_M

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_ICON = 20
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
