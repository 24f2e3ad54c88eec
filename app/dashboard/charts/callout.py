"""What is pointed at: its words beside its mark, or a tint behind what is written there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPen

from app.dashboard.charts.drawing import GAP, LINE

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from app.dashboard.charts.drawing import Spot
    from app.palette import Palette

_SIDE = 10  # between the words and the edge
_DOT = 4.0
_CORNER = 6
_BESIDE = 4  # of the tint, to the left and the right


def callout_place(spot: Spot, width: float, height: float, room: tuple[float, float]) -> tuple[float, float]:
    """Return the left and the top edge of a callout: above its point, or else below, and always inside.

    Args:
        spot: What it speaks of.
        width: Of the callout.
        height: Of the callout.
        room: Width and height of the chart.
    """
    x, y = spot.at
    left = min(max(0.0, x - width / 2), max(0.0, room[0] - width))
    above, below = y - GAP - height, y + GAP
    if above >= 0:
        return left, above
    if below + height <= room[1]:
        return left, below
    beside = x + 1.5 * GAP if x + 1.5 * GAP + width <= room[0] else x - 1.5 * GAP - width
    return max(0.0, beside), min(max(0.0, y - height / 2), max(0.0, room[1] - height))


def call_out(painter: QPainter, spot: Spot, palette: Palette, room: tuple[float, float]) -> None:
    """Mark the point of a spot, and say its words beside it; tint all of it where it has none."""
    if spot.words:
        _say(painter, spot, palette, room)
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.hover)
    area = QRectF(spot.x, spot.y, spot.width, spot.height)
    painter.drawRoundedRect(area.adjusted(-_BESIDE, 0, _BESIDE, 0), _CORNER, _CORNER)


def _say(painter: QPainter, spot: Spot, palette: Palette, room: tuple[float, float]) -> None:
    lines = spot.words.split("\n")
    metrics = painter.fontMetrics()
    width = max(metrics.horizontalAdvance(line) for line in lines) + 2 * _SIDE
    height = LINE * len(lines) + 0.8 * _SIDE
    left, top = (round(edge) for edge in callout_place(spot, width, height, room))
    painter.setPen(QPen(QColor(palette.raised), 1.5))
    painter.setBrush(QColor(palette.text))
    painter.drawEllipse(QPointF(*spot.at), _DOT, _DOT)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(palette.toast))
    painter.drawRoundedRect(QRectF(left, top, width, height), _CORNER, _CORNER)
    painter.setPen(QColor(palette.toast_text))
    for index, line in enumerate(lines):
        area = QRectF(left + _SIDE, top + 0.4 * _SIDE + LINE * index, width, LINE)
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, line)
