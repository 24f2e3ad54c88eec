"""Labels of plain text, wrapped or elided."""

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
    """Wrapped, selectable plain text; hidden while it has none.

    `tone` is a colour of the palette that the style sheet knows for labels; "" is that of text.
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
        font = theme.tabular_font(pixels)
        font.setWeight(weight)
        self.setFont(font)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setProperty("tone", tone)
        self.hide()

    def say(self, text: str, tone: str | None = None) -> None:
        """Show `text`, in another tone if one is given; "" hides the label."""
        if tone is not None and tone != self.property("tone"):
            self.setProperty("tone", tone)
            restyle(self)
        self.setText(text)
        self.setVisible(bool(text))


class ElidedLabel(QLabel):
    """One line that is elided when there is too little room; `text` always returns all of it."""

    def __init__(self, parent: QWidget | None = None, *, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__(parent)
        self._mode = mode
        self._text = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def setText(self, text: str) -> None:
        self._text = text
        self._elide()
        self.updateGeometry()

    def text(self) -> str:
        return self._text

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._text) + 1, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._text, self._mode, self.width())
        super().setText(shown)
        self.setAccessibleDescription(self._text)
