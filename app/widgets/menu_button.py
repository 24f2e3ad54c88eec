"""A quiet button that opens a menu: its text, then a chevron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QPushButton

from app.theme import RADIUS, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_CHEVRON = 12
_HEIGHT = 28


class MenuButton(QPushButton):
    """As wide as its text, which is cut with "…" where the room ends."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Ask for room for the text and the chevron."""
        text = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(text + _CHEVRON + 2 * SPACE_S + SPACE_XS + 1, _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Shrink down to the chevron when there is no room."""
        return QSize(_CHEVRON + 2 * SPACE_S, _HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint what the style sheet cannot: the chevron right behind the text."""
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isDown() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.selected if self.isDown() else palette.hover)
            painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        if self.hasFocus():
            painter.setPen(QColor(palette.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            painter.drawRoundedRect(ring, RADIUS, RADIUS)
        right = self.width() - SPACE_S - _CHEVRON
        area = QRect(SPACE_S, 0, right - SPACE_XS - SPACE_S + 1, self.height())
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, area.width())
        painter.setPen(QColor(palette.text))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        scale = max(round(self.devicePixelRatioF()), 1)
        chevron = self._theme.icons.pixmap("chevron-down", palette.secondary, _CHEVRON, scale)
        painter.drawPixmap(right, (self.height() - _CHEVRON) // 2, chevron)
