"""A ring that fills with the context window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QProgressBar

from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_SIDE = 20
_WIDTH = 2.5
_TIGHT = 0.8  # of the window; from here on the ring warns


class ContextRing(QProgressBar):
    """Shows a share of 0..1, and says the rest in its tooltip; to a screen reader it is a progress bar.

    Attributes:
        share: What is shown.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.share = 0.0
        self.setFixedSize(QSize(_SIDE, _SIDE))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("Context"))
        theme.changed.connect(self.update)

    def set_share(self, share: float, words: str, tooltip: str) -> None:
        """Show another share."""
        self.share = share
        self.setValue(round(100 * share))
        self.setAccessibleName(words)
        self.setToolTip(tooltip)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the ring, its filled part clockwise from the top."""
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inset = _WIDTH / 2 + 1
        area = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        for color, share in (
            (palette.border, 1.0),
            (palette.warning if self.share >= _TIGHT else palette.secondary, self.share),
        ):
            pen = QPen(QColor(color), _WIDTH)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(pen)
            painter.drawArc(area, 90 * 16, -round(360 * 16 * share))
        if self.hasFocus():
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.drawEllipse(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
