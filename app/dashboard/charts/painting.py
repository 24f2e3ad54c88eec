"""Paints a drawing, its straight lines and edges exactly on the pixels of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from app.dashboard.charts.colors import color
from app.dashboard.charts.drawing import (
    LINE,
    Align,
    Area,
    Box,
    Curve,
    Dot,
    Drawing,
    Fill,
    Form,
    Rule,
    Shape,
    Stroke,
    Words,
)

if TYPE_CHECKING:
    from app.palette import Palette

_CORNER = 2.5
_RULE, _CURVE = 1.0, 2.0  # how wide they are
_DOT = 3.5
_SQUARE = 3.2
_DASHES = {
    Stroke.SOLID: None,
    Stroke.DASHED: [4.0, 2.5],  # in widths of the line
    Stroke.DOTTED: [1.0, 2.0],
}
_ALIGNED = {
    Align.LEFT: (Qt.AlignmentFlag.AlignLeft, 0.0),
    Align.CENTRE: (Qt.AlignmentFlag.AlignHCenter, 0.5),
    Align.RIGHT: (Qt.AlignmentFlag.AlignRight, 1.0),
}
_WIDE = 2000.0  # words are never cut


def snapped(
    x: float, y: float, width: float, height: float, scale: float
) -> tuple[float, float, float, float]:
    """Return a rectangle whose edges lie on device pixels, at least one of them wide and high.

    Args:
        x: Left edge, in logical pixels.
        y: Top edge.
        width: At least 0.
        height: At least 0.
        scale: Device pixels in a logical one.
    """
    left, top = round(x * scale), round(y * scale)
    right = max(left + 1, round((x + width) * scale))
    bottom = max(top + 1, round((y + height) * scale))
    return left / scale, top / scale, (right - left) / scale, (bottom - top) / scale


def rule_box(rule: Rule) -> tuple[float, float, float, float]:
    """Return what a level or upright line covers: x, y, width, height."""
    left, right = sorted((rule.x1, rule.x2))
    top, bottom = sorted((rule.y1, rule.y2))
    if top == bottom:
        return left, top - _RULE / 2, right - left, _RULE
    return left - _RULE / 2, top, _RULE, bottom - top


class DrawingPainter:
    """Paints shapes with one painter.

    Args:
        painter: Where to; its font is that of the words.
        palette: The colours.
        scale: Device pixels in a logical one.
    """

    def __init__(self, painter: QPainter, palette: Palette, scale: float) -> None:
        self._painter = painter
        self._palette = palette
        self._scale = scale
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def paint(self, drawing: Drawing) -> None:
        """Paint the shapes in their order."""
        for shape in drawing.shapes:
            self._paint(shape)

    def _paint(self, shape: Shape) -> None:
        match shape:
            case Box():
                self._box(shape)
            case Rule():
                self._painter.fillRect(QRectF(*snapped(*rule_box(shape), self._scale)), self._color(shape))
            case Curve():
                self._curve(shape)
            case Area():
                self._painter.setPen(Qt.PenStyle.NoPen)
                self._painter.setBrush(self._color(shape))
                self._painter.drawPolygon(_polygon(shape.points))
            case Dot():
                self._dot(shape)
            case Words():
                self._words(shape)

    def _color(self, shape: Shape) -> QColor:
        return color(shape.ink, self._palette)

    def _box(self, box: Box) -> None:
        if box.width <= 0 or box.height <= 0:
            return
        area = QRectF(*snapped(box.x, box.y, box.width, box.height, self._scale))
        ink = self._color(box)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(ink)
        corner = min(_CORNER, area.width() / 2, area.height() / 2)
        if box.fill is Fill.SOLID:
            self._painter.drawRoundedRect(area, corner, corner)
            return
        faint = QColor(ink)
        faint.setAlphaF(0.25 * ink.alphaF())
        self._painter.setBrush(faint)
        self._painter.drawRoundedRect(area, corner, corner)
        if box.fill is Fill.HATCHED:
            self._hatch(area, ink)
        inset = area.adjusted(0.5, 0.5, -0.5, -0.5)
        self._painter.setPen(QPen(ink, 1))
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        self._painter.drawRoundedRect(inset, corner, corner)

    def _hatch(self, area: QRectF, ink: QColor) -> None:
        self._painter.save()
        self._painter.setClipRect(area)
        self._painter.setPen(QPen(ink, 1.5))
        x = area.left() - area.height()
        while x < area.right():
            self._painter.drawLine(QPointF(x, area.bottom()), QPointF(x + area.height(), area.top()))
            x += 5
        self._painter.restore()

    def _curve(self, curve: Curve) -> None:
        pen = QPen(self._color(curve), _CURVE)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        dashes = _DASHES[curve.stroke]
        if dashes is not None:
            pen.setDashPattern(dashes)
        self._painter.setPen(pen)
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        self._painter.drawPolyline(_polygon(curve.points))

    def _dot(self, dot: Dot) -> None:
        opaque = self._color(dot)
        opaque.setAlphaF(1.0)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(QBrush(opaque))
        middle = QPointF(dot.x, dot.y)
        if dot.form is Form.ROUND:
            self._painter.drawEllipse(middle, _DOT, _DOT)
        else:
            self._painter.drawRect(
                QRectF(*snapped(dot.x - _SQUARE, dot.y - _SQUARE, 2 * _SQUARE, 2 * _SQUARE, self._scale))
            )

    def _words(self, words: Words) -> None:
        flag, share = _ALIGNED[words.align]
        area = QRectF(words.x - share * _WIDE, words.y - LINE / 2, _WIDE, LINE)
        self._painter.setPen(self._color(words))
        self._painter.drawText(area, flag | Qt.AlignmentFlag.AlignVCenter, words.text)


def _polygon(points: tuple[tuple[float, float], ...]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])
