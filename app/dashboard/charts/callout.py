"""What is pointed at: its words beside its mark, or a tint behind what is written there already."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPen

from app.dashboard.charts.drawing import GAP, LINE, Align, Box, Curve, Dot, Ink, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QPainter

    from app.dashboard.charts.drawing import Drawing, Spot
    from app.palette import Palette

_SIDE = 10  # between the words and the edge
_DOT = 4.0
_CORNER = 6
_EVERY = 8.0  # pixels between the points of a curve or a bar
_LEFT_OF = {Align.LEFT: 0.0, Align.CENTRE: 0.5, Align.RIGHT: 1.0}  # its place, in widths
_GROUNDS = frozenset({Ink.TRACK, Ink.BAND, Ink.GRID, Ink.AXIS})
_BESIDE = 4  # of the tint, to the left and the right


def callout_place(
    spot: Spot,
    width: float,
    height: float,
    room: tuple[float, float],
    marks: Sequence[tuple[float, float]] = (),
) -> tuple[float, float]:
    """Return the left and the top edge of a callout: always inside, where it covers the fewest marks.

    Args:
        spot: What it speaks of.
        width: Of the callout.
        height: Of the callout.
        room: Width and height of the chart.
        marks: Points of the data that are better seen.
    """
    x, y = spot.at
    most_left, lowest = max(0.0, room[0] - width), max(0.0, room[1] - height)
    lefts = [min(max(0.0, left), most_left) for left in (x - width / 2, x + 1.5 * GAP, x - 1.5 * GAP - width)]
    tops = [
        min(max(0.0, top), lowest)
        for top in (y - GAP - height, y + GAP, y - height / 2, 0.0, room[1] - height)
    ]

    def cost(place: tuple[float, float]) -> tuple[bool, int, float]:
        """The own point is never covered where that can be; as little as can be of the others; near is better."""
        covered = [mark for mark in marks if _covers(place, width, height, mark)]
        away = abs(place[0] + width / 2 - x) + abs(place[1] + height / 2 - y)
        return _covers(place, width, height, spot.at), len(covered), away

    return min(product(lefts, tops), key=cost)


def _covers(place: tuple[float, float], width: float, height: float, mark: tuple[float, float]) -> bool:
    left, top = place
    return left - _DOT < mark[0] < left + width + _DOT and top - _DOT < mark[1] < top + height + _DOT


def marks_of(drawing: Drawing, text_width: Callable[[str], float]) -> list[tuple[float, float]]:
    """Return points of what a drawing says: its dots, its curves, its bars and its words, and no grid or ground.

    Args:
        drawing: Says it.
        text_width: Returns how wide words are, in pixels.
    """
    marks: list[tuple[float, float]] = []
    for shape in drawing.shapes:
        match shape:
            case Dot():
                marks.append((shape.x, shape.y))
            case Words():
                width = text_width(shape.text)
                left = shape.x - width * _LEFT_OF[shape.align]
                steps = max(1, round(width / _EVERY))
                marks += [(left + width * n / steps, shape.y) for n in range(steps + 1)]
            case Curve():
                for (x1, y1), (x2, y2) in pairwise(shape.points):
                    steps = max(1, round(max(abs(x2 - x1), abs(y2 - y1)) / _EVERY))
                    marks += [
                        (x1 + (x2 - x1) * n / steps, y1 + (y2 - y1) * n / steps) for n in range(steps + 1)
                    ]
            case Box() if shape.ink not in _GROUNDS:
                across, down = (max(1, round(size / _EVERY)) for size in (shape.width, shape.height))
                marks += [
                    (shape.x + shape.width * n / across, shape.y + shape.height * m / down)
                    for n, m in product(range(across + 1), range(down + 1))
                ]
    return marks


def call_out(
    painter: QPainter, drawing: Drawing, index: int, palette: Palette, room: tuple[float, float]
) -> None:
    """Mark the point of a spot of a drawing, and say its words beside it; tint all of it where it has none."""
    spot = drawing.spots[index]
    if spot.words:
        _say(painter, spot, palette, room, marks_of(drawing, painter.fontMetrics().horizontalAdvance))
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.hover)
    area = QRectF(spot.x, spot.y, spot.width, spot.height)
    painter.drawRoundedRect(area.adjusted(-_BESIDE, 0, _BESIDE, 0), _CORNER, _CORNER)


def _say(
    painter: QPainter,
    spot: Spot,
    palette: Palette,
    room: tuple[float, float],
    marks: Sequence[tuple[float, float]],
) -> None:
    lines = spot.words.split("\n")
    metrics = painter.fontMetrics()
    width = max(metrics.horizontalAdvance(line) for line in lines) + 2 * _SIDE
    height = LINE * len(lines) + 0.8 * _SIDE
    left, top = (round(edge) for edge in callout_place(spot, width, height, room, marks))
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
