"""A label of one line that ends in "…" where the room ends."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def plain_tooltip(text: str) -> str:
    """Return `text` for a tooltip, which would take whatever looks like HTML as HTML."""
    return f"<qt>{html.escape(text)}</qt>"


class ElidedLabel(QLabel):
    """Plain text on one line; the whole of it is the tooltip when it does not fit."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def shown_text(self) -> str:
        """Return what of the text is shown at the present width."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())

    def minimumSizeHint(self) -> QSize:
        """Leave the width free: any width will do."""
        return QSize(0, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        """Ask for the whole text's width."""
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + 2, super().sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint as much of the text as fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(
            self.rect(), int(self.alignment() | Qt.AlignmentFlag.AlignVCenter), self.shown_text()
        )

    def event(self, event: QEvent) -> bool:
        """Show the whole text to a resting pointer when it does not fit."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and not self.toolTip():
            if self.shown_text() != self.text():
                QToolTip.showText(event.globalPos(), plain_tooltip(self.text()), self)
            return True
        return super().event(event)
