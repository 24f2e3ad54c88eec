"""Words as they are, that break into lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel

from app.theme import CODE_PX
from app.widgets.restyle import restyle

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme


class PlainLabel(QLabel):
    """Takes nothing for markup, can be selected, and is not there while it has nothing to say.

    Args:
        theme: The look.
        pixels: The size of its words.
        tone: A colour of the palette that the style sheet knows for labels; "" for that of text.
        weight: Of its words.
    """

    def __init__(
        self,
        theme: Theme,
        pixels: int = CODE_PX,
        tone: str = "",
        weight: QFont.Weight = QFont.Weight.Normal,
        *,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        font = theme.figures_font(pixels)
        font.setWeight(weight)
        self.setFont(font)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setProperty("tone", tone)
        self.hide()

    def say(self, words: str, tone: str | None = None) -> None:
        """Show words, in another tone if one is given; nothing when there are none."""
        if tone is not None and tone != self.property("tone"):
            self.setProperty("tone", tone)
            restyle(self)
        self.setText(words)
        self.setVisible(bool(words))
