"""A thin line that fills while something loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from app.theme import Theme

_THICKNESS = 2


class LoadingBar(QWidget):
    """Two pixels high and always there, so that nothing moves when it fills or empties."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._fraction: float | None = None
        self.setFixedHeight(_THICKNESS)
        theme.restyling.add(self._restyle)

    @property
    def fraction(self) -> float | None:
        """How far it is filled, 0..1; None when nothing loads."""
        return self._fraction

    def set_fraction(self, fraction: float | None) -> None:
        """Fill the line up to `fraction`, 0..1, or clear it with None."""
        self._fraction = fraction
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the track and what is filled of it."""
        if self._fraction is None:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.palette.selected)
        filled = QRectF(0, 0, self.width() * min(max(self._fraction, 0.0), 1.0), self.height())
        painter.fillRect(filled, QColor(self._theme.palette.accent))

    def _restyle(self) -> None:
        self.update()
