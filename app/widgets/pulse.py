"""A dot that breathes while something is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEasingCurve, QPointF, Qt, QVariantAnimation
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from app.palette import tint

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPaintEvent, QShowEvent

    from app.theme import Theme

_SIDE, _RADIUS = 12, 4.0
_BREATH_MS = 1400
_FAINT = 0.25


class Pulse(QWidget):
    """Moves only while it is visible."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedSize(_SIDE, _SIDE)
        self._breath = QVariantAnimation(self, startValue=_FAINT, endValue=_FAINT, duration=_BREATH_MS)
        self._breath.setKeyValueAt(0.5, 1.0)
        self._breath.setEasingCurve(QEasingCurve.Type.InOutSine)
        self._breath.setLoopCount(-1)
        self._breath.valueChanged.connect(self.update)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to breathe, unless nothing is to move."""
        super().showEvent(event)
        if not self._theme.reduced_motion:
            self._breath.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Rest."""
        super().hideEvent(event)
        self._breath.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the dot as strong as it is at this moment."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(
            tint(
                self._theme.palette.accent,
                1.0 if self._theme.reduced_motion else self._breath.currentValue() or _FAINT,
            )
        )
        painter.drawEllipse(QPointF(_SIDE / 2, _SIDE / 2), _RADIUS, _RADIUS)
