"""The chart widget: a table view painted as a chart, with callouts for its rows."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
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
    Canvas,
    ChartData,
    Curve,
    Dot,
    Drawing,
    DrawingPainter,
    Ink,
    Text,
)
from app.i18n import tr
from app.theme import RADIUS, SMALL_PX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent
    from PySide6.QtWidgets import QWidget

    from app.dashboard.charts.drawing import ChartTable, Spot
    from app.palette import Palette
    from app.theme import Theme


_SIDE = 10  # between the text and the edge of a callout
_DOT = 4.0
_CORNER = 6
_EVERY = 8.0  # pixels between the sampled points of a curve or a bar
_LEFT_OF = {Align.LEFT: 0.0, Align.CENTRE: 0.5, Align.RIGHT: 1.0}  # its x, in widths
_GROUNDS = frozenset({Ink.TRACK, Ink.BAND, Ink.GRID, Ink.AXIS})
_BESIDE = 4  # pixels of tint to the left and the right
_MARGIN = 8  # around the drawing, for the focus ring
_LEAST_WIDTH = 240
_NEAR = 12  # pixels from a spot at which the pointer still means it
_Steps = QTableView.CursorAction
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class Chart(QTableView):
    """Paints data as a chart; to screen readers and the clipboard they are a table.

    It is a table view that paints a chart in position of cells, so that names, headers, cells and their rectangles come
    from Qt's own table, which all screen readers know (PySide 6.9 has no `QAccessibleTableInterface` to implement).
    The arrow keys and the pointer choose a row, which has a callout beside its mark.

    Attributes:
        copy_as_table: The action that copies the table; in the context menu, and by the usual key.
    """

    def __init__(self, theme: Theme, name: str, data: ChartData, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing: Drawing | None = None
        self._pointed: int | None = None  # the row under the pointer
        self.chart_data = data
        self._model = ChartTableModel(data.table(), self)
        self.setModel(self._model)
        self._hide_table_features()
        self.setAccessibleName(name)
        self.setFont(theme.tabular_font(SMALL_PX))
        self.copy_as_table = QAction(tr("Copy as table"), self)
        self.copy_as_table.triggered.connect(self._copy)
        self.addAction(self.copy_as_table)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        theme.restyling.add(self._restyle)
        self.show_data(data)

    def show_data(self, data: ChartData) -> None:
        """Show other data; the row with the callout stays, if there is one."""
        grown = data.height != self.chart_data.height
        self.chart_data = data
        self._model.set_table(data.table())
        self._drawing = None
        self.setAccessibleDescription(data.empty_text)
        if grown:
            self.updateGeometry()
        self.viewport().update()

    # ------------------------------------------------------------ painting

    def sizeHint(self) -> QSize:
        return QSize(2 * _LEAST_WIDTH, self.chart_data.height + 2 * _MARGIN)

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, self.chart_data.height + 2 * _MARGIN)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        palette = self._theme.palette
        if self.chart_data.empty_text:
            painter.setPen(QColor(palette.tertiary))
            centred = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect(), centred, self.chart_data.empty_text)
        else:
            drawing = self._drawn()
            painter.translate(_MARGIN, _MARGIN)
            DrawingPainter(painter, palette, painter.device().devicePixelRatioF()).paint(drawing)
            row = self._called_out()
            if row is not None:
                call_out(painter, drawing, row, palette, self._canvas_size())
            painter.translate(-_MARGIN, -_MARGIN)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(palette.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._drawing = None

    # ------------------------------------------------------------ pointer and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._row_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self._row_at(event.position().toPoint())
        if row is not None:
            self._choose(row)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self._model.rowCount() and not self.currentIndex().isValid():
            self._choose(0)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def currentChanged(self, current: _Index, previous: _Index) -> None:
        super().currentChanged(current, previous)
        self._pointed = None
        self.viewport().update()

    def moveCursor(self, action: QTableView.CursorAction, _modifiers: Qt.KeyboardModifier) -> QModelIndex:
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

    def visualRect(self, index: _Index) -> QRect:
        if self.chart_data.empty_text or not index.isValid():
            return QRect()
        spot = self._drawn().spots[index.row()]
        return QRectF(spot.x + _MARGIN, spot.y + _MARGIN, spot.width, spot.height).toAlignedRect()

    def indexAt(self, point: QPoint) -> QModelIndex:
        row = self._row_at(point)
        return QModelIndex() if row is None else self._model.index(row, 0)

    def scrollTo(self, index: _Index, hint: QTableView.ScrollHint = ...) -> None:
        """Do nothing: all of the chart is visible."""

    def _hide_table_features(self) -> None:
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

    def _canvas_size(self) -> tuple[float, float]:
        return self.viewport().width() - 2 * _MARGIN, self.viewport().height() - 2 * _MARGIN

    def _drawn(self) -> Drawing:
        if self._drawing is None:
            metrics = QFontMetricsF(self.font())
            self._drawing = self.chart_data.drawing(Canvas(*self._canvas_size(), metrics.horizontalAdvance))
        return self._drawing

    def _called_out(self) -> int | None:
        # The row of the pointer, else the current one while the chart has the keyboard focus.
        if self._pointed is not None or not self.hasFocus():
            return self._pointed
        return self.currentIndex().row() if self.currentIndex().isValid() else None

    def _row_at(self, point: QPoint) -> int | None:
        if self.chart_data.empty_text:
            return None
        x, y = point.x() - _MARGIN, point.y() - _MARGIN
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
        self.setFont(self._theme.tabular_font(SMALL_PX))
        self._drawing = None
        self.viewport().update()


class ChartTableModel(QAbstractTableModel):
    """A `ChartTable` for Qt: its first column are the vertical headers, its head the horizontal ones."""

    def __init__(self, table: ChartTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.table = table

    def set_table(self, table: ChartTable) -> None:
        """Replace the data, without a reset where the size stays."""
        if table == self.table:
            return
        if table.rows and len(table.rows) == len(self.table.rows) and len(table.head) == len(self.table.head):
            self.table = table
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
        else:
            self.beginResetModel()
            self.table = table
            self.endResetModel()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.table.head) - 1

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        if role != Qt.ItemDataRole.DisplayRole or not index.isValid():
            return None
        return self.table.rows[index.row()][index.column() + 1]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return self.table.head[section + 1]
        return self.table.rows[section][0]


def callout_position(
    spot: Spot,
    width: float,
    height: float,
    canvas: tuple[float, float],
    marks: Sequence[tuple[float, float]] = (),
) -> tuple[float, float]:
    """Return the left and the top edge of a callout: always inside the canvas, where it covers the fewest marks."""
    x, y = spot.at
    most_left, lowest = max(0.0, canvas[0] - width), max(0.0, canvas[1] - height)
    lefts = [min(max(0.0, left), most_left) for left in (x - width / 2, x + 1.5 * GAP, x - 1.5 * GAP - width)]
    tops = [min(max(0.0, top), lowest) for top in (y - GAP - height, y + GAP, y - height / 2, 0.0, canvas[1] - height)]

    def cost(position: tuple[float, float]) -> tuple[bool, int, float]:
        """Order positions by whether they cover the own point, how many others, and the distance."""
        covered = [mark for mark in marks if _covers(position, width, height, mark)]
        away = abs(position[0] + width / 2 - x) + abs(position[1] + height / 2 - y)
        return _covers(position, width, height, spot.at), len(covered), away

    return min(product(lefts, tops), key=cost)


def _covers(position: tuple[float, float], width: float, height: float, mark: tuple[float, float]) -> bool:
    left, top = position
    return left - _DOT < mark[0] < left + width + _DOT and top - _DOT < mark[1] < top + height + _DOT


def marks_of(drawing: Drawing, text_width: Callable[[str], float]) -> list[tuple[float, float]]:
    """Return sampled points of the dots, curves, bars and text of a drawing, not of its grid and background."""
    marks: list[tuple[float, float]] = []
    for shape in drawing.shapes:
        match shape:
            case Dot():
                marks.append((shape.x, shape.y))
            case Text():
                width = text_width(shape.text)
                left = shape.x - width * _LEFT_OF[shape.align]
                steps = max(1, round(width / _EVERY))
                marks += [(left + width * n / steps, shape.y) for n in range(steps + 1)]
            case Curve():
                for (x1, y1), (x2, y2) in pairwise(shape.points):
                    steps = max(1, round(max(abs(x2 - x1), abs(y2 - y1)) / _EVERY))
                    marks += [(x1 + (x2 - x1) * n / steps, y1 + (y2 - y1) * n / steps) for n in range(steps + 1)]
            case Box() if shape.ink not in _GROUNDS:
                across, down = (max(1, round(size / _EVERY)) for size in (shape.width, shape.height))
                marks += [
                    (shape.x + shape.width * n / across, shape.y + shape.height * m / down)
                    for n, m in product(range(across + 1), range(down + 1))
                ]
    return marks


def call_out(painter: QPainter, drawing: Drawing, index: int, palette: Palette, canvas: tuple[float, float]) -> None:
    """Mark the point of a spot and write its callout beside it; tint the spot where it has no callout."""
    spot = drawing.spots[index]
    if spot.text:
        _paint_callout(painter, spot, palette, canvas, marks_of(drawing, painter.fontMetrics().horizontalAdvance))
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.hover)
    area = QRectF(spot.x, spot.y, spot.width, spot.height)
    painter.drawRoundedRect(area.adjusted(-_BESIDE, 0, _BESIDE, 0), _CORNER, _CORNER)


def _paint_callout(
    painter: QPainter,
    spot: Spot,
    palette: Palette,
    canvas: tuple[float, float],
    marks: Sequence[tuple[float, float]],
) -> None:
    lines = spot.text.split("\n")
    metrics = painter.fontMetrics()
    width = max(metrics.horizontalAdvance(line) for line in lines) + 2 * _SIDE
    height = LINE * len(lines) + 0.8 * _SIDE
    left, top = (round(edge) for edge in callout_position(spot, width, height, canvas, marks))
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
