"""Labels: plain, elided, fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import (
    QFont,
    QResizeEvent,
)
from PySide6.QtWidgets import QLabel

from app.stylesheet import restyle
from app.theme import CODE_PX

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


class ElidedLabel(QLabel):
    """Asks for room for all of its text, and makes do with less; `text` is always all of it.

    Args:
        mode: What is left out, by default the end.
    """

    def __init__(
        self, parent: QWidget | None = None, *, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def setText(self, text: str) -> None:
        """Show another text."""
        self._whole = text
        self._elide()
        self.updateGeometry()

    def text(self) -> str:
        """Return the text, also what is cut off."""
        return self._whole

    def sizeHint(self) -> QSize:
        """Ask for room for all of it."""
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 1, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Make do with nothing."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the text to its new room."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, self._mode, self.width())
        super().setText(shown)
        self.setAccessibleDescription(self._whole)
