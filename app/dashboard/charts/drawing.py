"""A chart as data: its shapes, its table, the protocol of what can be drawn; and the painter of the shapes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from app.palette import Palette, tint

if TYPE_CHECKING:
    from collections.abc import Callable


LINE = 16  # height of a line of text
GAP = 8  # between text and marks


class Ink(Enum):
    """The role of a shape, which decides its colour in each palette."""

    TEXT = auto()
    SECONDARY = auto()
    TERTIARY = auto()
    AXIS = auto()  # the base of the bars
    GRID = auto()
    TRACK = auto()  # the full length of a bar
    BAND = auto()  # behind a curve
    DRAFTED = auto()
    PLAIN = auto()
    FASTER = auto()
    SLOWER = auto()


class Fill(Enum):
    """How a bar is filled; it repeats what its ink says for users who see few colours."""

    SOLID = auto()
    HATCHED = auto()  # a loss
    HOLLOW = auto()  # too few samples to go by


class Stroke(Enum):
    """The line style of a curve."""

    SOLID = auto()
    DASHED = auto()
    DOTTED = auto()


class DotShape(Enum):
    """The shape of a dot."""

    ROUND = auto()
    SQUARE = auto()


class Align(Enum):
    """Which part of a line of text is at its x."""

    LEFT = auto()
    CENTRE = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True)
class Box:
    """A bar, or a part of the background."""

    x: float
    y: float
    width: float
    height: float
    ink: Ink
    fill: Fill = Fill.SOLID


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal or vertical line, a pixel wide."""

    x1: float
    y1: float
    x2: float
    y2: float
    ink: Ink


@dataclass(frozen=True, slots=True)
class Curve:
    """A polyline."""

    points: tuple[tuple[float, float], ...]
    ink: Ink
    stroke: Stroke = Stroke.SOLID


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon."""

    points: tuple[tuple[float, float], ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Dot:
    """A data point."""

    x: float
    y: float
    ink: Ink
    form: DotShape = DotShape.ROUND


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` is its middle."""

    x: float
    y: float
    text: str
    ink: Ink = Ink.TEXT
    align: Align = Align.LEFT


Shape = Box | Rule | Curve | Area | Dot | Text


@dataclass(frozen=True, slots=True)
class Spot:
    """The area of one row of the table, with its callout.

    Attributes:
        at: The point that the callout is beside.
        text: Lines of the callout; "" where the drawing shows all of it.
    """

    x: float
    y: float
    width: float
    height: float
    at: tuple[float, float]
    text: str = ""

    def distance(self, x: float, y: float) -> float:
        """Return the distance of a point from the area, 0 inside."""
        across = max(self.x - x, 0.0, x - self.x - self.width)
        down = max(self.y - y, 0.0, y - self.y - self.height)
        return max(across, down)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole chart: shapes in the order of painting, and a spot for each row of the table."""

    shapes: tuple[Shape, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Canvas:
    """The area to draw in, in pixels; `text_width` measures a text."""

    width: float
    height: float
    text_width: Callable[[str], float]

    def widest(self, texts: tuple[str, ...]) -> float:
        return max(map(self.text_width, texts), default=0.0)


@dataclass(frozen=True, slots=True)
class ChartTable:
    """The data of a chart as text; rows are as long as `head`, the first column names them."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Return tab-separated lines, as spreadsheets paste them."""
        return "\n".join("\t".join(row) for row in (self.head, *self.rows))


class ChartData(Protocol):
    """The data of a chart, which know their table and their drawing."""

    @property
    def empty_text(self) -> str:
        """Why there is nothing to draw, for the user; "" when there is something."""

    @property
    def height(self) -> int:
        """The height of the drawing, in pixels."""

    def table(self) -> ChartTable:
        """Return the data as text, without rows where there are none."""

    def drawing(self, canvas: Canvas) -> Drawing:
        """Return the shapes; only for data that are not empty."""


# Marks are a little softer than text of the same colour, so that ranges can be read on top of them.
_MARK = 0.72

_COLORS: dict[Ink, Callable[[Palette], QColor]] = {
    Ink.TEXT: lambda palette: QColor(palette.text),
    Ink.SECONDARY: lambda palette: QColor(palette.secondary),
    Ink.TERTIARY: lambda palette: QColor(palette.tertiary),
    Ink.AXIS: lambda palette: QColor(palette.tertiary),
    Ink.GRID: lambda palette: QColor(palette.border),
    Ink.TRACK: lambda palette: palette.selected,
    Ink.BAND: lambda palette: palette.accepted,
    Ink.DRAFTED: lambda palette: tint(palette.accent, _MARK),
    Ink.PLAIN: lambda palette: tint(palette.tertiary, _MARK),
    Ink.FASTER: lambda palette: tint(palette.faster, _MARK),
    Ink.SLOWER: lambda palette: tint(palette.slower, _MARK),
}


def color(ink: Ink, palette: Palette) -> QColor:
    return _COLORS[ink](palette)


_CORNER = 2.5
_RULE, _CURVE = 1.0, 2.0  # widths
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
_WIDE = 2000.0  # text is never cut


def snapped(x: float, y: float, width: float, height: float, scale: float) -> tuple[float, float, float, float]:
    """Return a rectangle with its edges on device pixels, at least one wide and high; `scale` to a logical one."""
    left, top = round(x * scale), round(y * scale)
    right = max(left + 1, round((x + width) * scale))
    bottom = max(top + 1, round((y + height) * scale))
    return left / scale, top / scale, (right - left) / scale, (bottom - top) / scale


def rule_box(rule: Rule) -> tuple[float, float, float, float]:
    """Return the rectangle of a line: x, y, width, height."""
    left, right = sorted((rule.x1, rule.x2))
    top, bottom = sorted((rule.y1, rule.y2))
    if top == bottom:
        return left, top - _RULE / 2, right - left, _RULE
    return left - _RULE / 2, top, _RULE, bottom - top


class DrawingPainter:
    """Paints shapes with one painter, in its font; `scale` is the device pixels in a logical one."""

    def __init__(self, painter: QPainter, palette: Palette, scale: float) -> None:
        self._painter = painter
        self._palette = palette
        self._scale = scale
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def paint(self, drawing: Drawing) -> None:
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
            case Text():
                self._text(shape)

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
        if dot.form is DotShape.ROUND:
            self._painter.drawEllipse(middle, _DOT, _DOT)
        else:
            self._painter.drawRect(
                QRectF(*snapped(dot.x - _SQUARE, dot.y - _SQUARE, 2 * _SQUARE, 2 * _SQUARE, self._scale))
            )

    def _text(self, text: Text) -> None:
        flag, share = _ALIGNED[text.align]
        area = QRectF(text.x - share * _WIDE, text.y - LINE / 2, _WIDE, LINE)
        self._painter.setPen(self._color(text))
        self._painter.drawText(area, flag | Qt.AlignmentFlag.AlignVCenter, text.text)


def _polygon(points: tuple[tuple[float, float], ...]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])
