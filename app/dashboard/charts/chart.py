"""The chart widget: a table view painted as a chart, with callouts."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QAction, QColor, QFontMetricsF, QGuiApplication, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import QFrame, QSizePolicy, QTableView

from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Align,
    Box,
    ChartData,
    Curve,
    Dot,
    Drawing,
    DrawingPainter,
    Ink,
    Room,
    Words,
)
from app.dashboard.charts.table_model import ChartTableModel
from app.i18n import tr
from app.theme import RADIUS, SMALL_PX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent
    from PySide6.QtWidgets import QWidget

    from app.dashboard.charts.drawing import Spot
    from app.palette import Palette
    from app.theme import Theme


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


_MARGIN = 8  # around the drawing, for the focus ring
_LEAST_WIDTH = 240
_NEAR = 12  # pixels from a mark at which it is still meant
_Steps = QTableView.CursorAction


class Chart(QTableView):
    """Shows figures as a picture; to a screen reader, and to the clipboard, they are the table that they are.

    It is a table view that paints a chart in place of cells: so names, heads, cells and their places come from Qt's
    own table, which all screen readers know (PySide 6.9 has no `QAccessibleTableInterface` to write another one with).
    The arrow keys and the pointer choose a row, which is called out beside its mark.

    Args:
        theme: The look.
        name: What the figures are, for screen readers.
        figures: What is shown first.
        parent: The widget that holds it.

    Attributes:
        figures: What is shown.
        copy_as_table: The action that copies all figures; in the context menu, and by the usual key.
    """

    def __init__(self, theme: Theme, name: str, figures: ChartData, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing: Drawing | None = None
        self._pointed: int | None = None  # the row under the pointer
        self.figures = figures
        self._model = ChartTableModel(figures.table(), self)
        self.setModel(self._model)
        self._be_calm()
        self.setAccessibleName(name)
        self.setFont(theme.figures_font(SMALL_PX))
        self.copy_as_table = QAction(tr("Copy as table"), self)
        self.copy_as_table.triggered.connect(self._copy)
        self.addAction(self.copy_as_table)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        theme.restyling.add(self._restyle)
        self.show_figures(figures)

    def show_figures(self, figures: ChartData) -> None:
        """Show other figures; the row that is called out stays, if there is one."""
        grown = figures.height != self.figures.height
        self.figures = figures
        self._model.set_table(figures.table())
        self._drawing = None
        self.setAccessibleDescription(figures.nothing)
        if grown:
            self.updateGeometry()
        self.viewport().update()

    # ------------------------------------------------------------ the picture

    def sizeHint(self) -> QSize:
        """Ask for the height of the figures."""
        return QSize(2 * _LEAST_WIDTH, self.figures.height + 2 * _MARGIN)

    def minimumSizeHint(self) -> QSize:
        """Never be too narrow to be read."""
        return QSize(_LEAST_WIDTH, self.figures.height + 2 * _MARGIN)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the drawing and what is called out; or say why there is none."""
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        palette = self._theme.palette
        if self.figures.nothing:
            painter.setPen(QColor(palette.tertiary))
            centred = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect(), centred, self.figures.nothing)
        else:
            drawing = self._drawn()
            painter.translate(_MARGIN, _MARGIN)
            DrawingPainter(painter, palette, painter.device().devicePixelRatioF()).paint(drawing)
            chosen = self._chosen()
            if chosen is not None:
                call_out(painter, drawing, chosen, palette, self._room())
            painter.translate(-_MARGIN, -_MARGIN)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(palette.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw again for another room."""
        super().resizeEvent(event)
        self._drawing = None

    # ------------------------------------------------------------ the readout

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Call out what the pointer is on."""
        self._point(self._row_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Keep what the pointer is on for the arrow keys."""
        row = self._row_at(event.position().toPoint())
        if row is not None:
            self._choose(row)

    def leaveEvent(self, event: QEvent) -> None:
        """Call nothing out for a pointer that is gone."""
        super().leaveEvent(event)
        self._point(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy all figures by the key for copying; leave the other keys to the table."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring, and call out the first row where none is chosen yet."""
        super().focusInEvent(event)
        if self._model.rowCount() and not self.currentIndex().isValid():
            self._choose(0)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring and the readout away."""
        super().focusOutEvent(event)
        self.viewport().update()

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Call the row out that the keys have chosen."""
        super().currentChanged(current, previous)
        self._pointed = None
        self.viewport().update()

    def moveCursor(self, action: QTableView.CursorAction, _modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Go to the next or the previous mark, whichever way the chart lies."""
        last = self._model.rowCount() - 1
        row = self.currentIndex().row()
        if action in (_Steps.MoveHome, _Steps.MovePageUp):
            row = 0
        elif action in (_Steps.MoveEnd, _Steps.MovePageDown):
            row = last
        elif action in (_Steps.MoveRight, _Steps.MoveDown, _Steps.MoveNext):
            row += 1
        else:
            row -= 1
        return self._model.index(min(max(row, 0), last), 0)

    def visualRect(self, index: QModelIndex | QPersistentModelIndex) -> QRect:
        """Return where a row's mark is: that is where screen readers and magnifiers look."""
        if self.figures.nothing or not index.isValid():
            return QRect()
        spot = self._drawn().spots[index.row()]
        return QRectF(spot.x + _MARGIN, spot.y + _MARGIN, spot.width, spot.height).toAlignedRect()

    def indexAt(self, place: QPoint) -> QModelIndex:
        """Return the row whose mark is at a place."""
        row = self._row_at(place)
        return QModelIndex() if row is None else self._model.index(row, 0)

    def scrollTo(self, index: QModelIndex | QPersistentModelIndex, hint: QTableView.ScrollHint = ...) -> None:
        """Do nothing: all of it is in sight."""

    # ------------------------------------------------------------ inside

    def _be_calm(self) -> None:
        """Take away what a table view has and a chart has not."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def _room(self) -> tuple[float, float]:
        return self.viewport().width() - 2 * _MARGIN, self.viewport().height() - 2 * _MARGIN

    def _drawn(self) -> Drawing:
        if self._drawing is None:
            metrics = QFontMetricsF(self.font())
            self._drawing = self.figures.drawing(Room(*self._room(), metrics.horizontalAdvance))
        return self._drawing

    def _chosen(self) -> int | None:
        """Return the row to call out: that of the pointer, or else that of the keys while they are here."""
        if self._pointed is not None or not self.hasFocus():
            return self._pointed
        return self.currentIndex().row() if self.currentIndex().isValid() else None

    def _row_at(self, place: QPoint) -> int | None:
        if self.figures.nothing:
            return None
        x, y = place.x() - _MARGIN, place.y() - _MARGIN
        distances = [spot.distance(x, y) for spot in self._drawn().spots]
        nearest = min(range(len(distances)), key=distances.__getitem__)
        return nearest if distances[nearest] <= _NEAR else None

    def _point(self, row: int | None) -> None:
        if row != self._pointed:
            self._pointed = row
            self.viewport().update()

    def _choose(self, row: int) -> None:
        self.setCurrentIndex(self._model.index(row, 0))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._model.table.as_text())

    def _restyle(self) -> None:
        self.setFont(self._theme.figures_font(SMALL_PX))
        self._drawing = None
        self.viewport().update()
