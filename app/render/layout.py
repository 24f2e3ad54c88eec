"""Geometry of the laid-out document: where leaves, lines and ranges of text are."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QTextBlockFormat, QTextCursor

from app.render.blocks import unit_per_character
from app.render.math import OBJECT, reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QFontMetricsF, QTextBlock, QTextCharFormat, QTextDocument, QTextLine, QTextTable

    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.style import Measures


_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


class Geometry:
    """Geometry of one document, in document coordinates; no query takes longer in a longer document."""

    def __init__(self, document: QTextDocument, writer: DocumentWriter) -> None:
        self._document = document
        self._writer = writer

    @property
    def _measures(self) -> Measures:
        return self._writer.formats.measures

    def height(self) -> float:
        """Return the height of the document, with the panel below its last line."""
        placed = self._writer.placed
        below = self._measures.code_bottom if placed and placed[-1].code is not None else 0
        return self._document.size().height() + below

    def width(self) -> float:
        return self._document.textWidth()

    def in_view(self, top: float, bottom: float) -> Iterator[PlacedBlock]:
        placed = self._writer.placed
        layout = self._document.documentLayout()
        position = layout.hitTest(QPointF(0, top), Qt.HitTestAccuracy.FuzzyHit)
        index = bisect_right(placed, position, key=lambda each: each.start) - 2
        for each in placed[max(0, index) :]:
            if self.top(each) > bottom:
                return
            yield each

    def index(self, placed: PlacedBlock) -> int:
        return bisect_right(self._writer.placed, placed.start, key=lambda each: each.start) - 1

    def lines_in_view(self, placed: PlacedBlock, top: float, bottom: float) -> range:
        first = self.first_block(placed).blockNumber()
        last = self.last_block(placed).blockNumber()
        layout = self._document.documentLayout()
        ends = (layout.hitTest(QPointF(0, y), Qt.HitTestAccuracy.FuzzyHit) for y in (top, bottom))
        begin, end = (self._document.findBlock(position).blockNumber() for position in ends)
        return range(max(0, begin - 1 - first), max(0, min(end, last) + 1 - first))

    def boxes(self, block: QTextBlock, start: int, end: int, metrics: QFontMetricsF) -> Iterator[QRectF]:
        """Yield the boxes of a range of `block`, as high as the letters of `metrics` or as the formula in them."""
        layout = block.layout()
        origin = self.rect(block).topLeft()
        text = block.text()
        characters = unit_per_character(text)
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            first, last = max(start, line.textStart()), min(end, line.textStart() + line.textLength())
            baseline = origin.y() + line.y() + line.ascent()
            for begin, stop in _split_at_objects(characters, first, last):
                above, below = metrics.ascent(), metrics.descent()
                if characters[begin] == OBJECT:
                    position = block.position() + begin
                    above, below = reach(self._document, position, self._format(position))
                for left, right in _extents(line, text, begin, stop):
                    yield QRectF(origin.x() + left, baseline - above, right - left, above + below)

    def _format(self, position: int) -> QTextCharFormat:
        cursor = QTextCursor(self._document)
        cursor.setPosition(position + 1)
        return cursor.charFormat()

    def before(self, placed: PlacedBlock) -> PlacedBlock | None:
        index = bisect_right(self._writer.placed, placed.start, key=lambda each: each.start) - 2
        return self._writer.placed[index] if index >= 0 else None

    def first_block(self, placed: PlacedBlock) -> QTextBlock:
        """Return the first text block of a leaf; for a table, that of its first cell."""
        start = placed.start if placed.table is None else placed.table.qt.firstPosition()
        return self._document.findBlock(start)

    def last_block(self, placed: PlacedBlock) -> QTextBlock:
        if placed.table is not None:
            return self._document.findBlock(placed.table.qt.lastPosition())
        index = bisect_right(self._writer.placed, placed.start, key=lambda each: each.start)
        if index == len(self._writer.placed):
            return self._document.lastBlock()
        return self._document.findBlock(self._writer.placed[index].start - 1)

    def rect(self, block: QTextBlock) -> QRectF:
        """Return the box of a text block: all its lines, each as high as its format says."""
        box = self._document.documentLayout().blockBoundingRect(block)
        if block.blockFormat().lineHeightType() == _FIXED:
            box.setHeight(block.layout().lineCount() * block.blockFormat().lineHeight())
        return box

    def top(self, placed: PlacedBlock) -> float:
        """Return the top of a leaf, with the header or padding above its first line."""
        above = (
            self._measures.code_header
            if placed.code is not None
            else self._measures.cell_y
            if placed.table is not None
            else 0
        )
        return self.rect(self.first_block(placed)).top() - above

    def bottom(self, placed: PlacedBlock) -> float:
        """Return the bottom of a leaf, with the padding below its last line."""
        if placed.table is not None:
            return self._table_bottom(placed.table.qt)
        below = self._measures.code_bottom if placed.code is not None else 0
        return self.rect(self.last_block(placed)).bottom() + below

    def panel(self, placed: PlacedBlock) -> QRectF:
        """Return the box of a code block with its header."""
        left = self._measures.indent(placed.shape.containers)
        top = self.top(placed)
        return QRectF(left, top, self.width() - left, self.bottom(placed) - top)

    def rows_in_view(self, placed: PlacedBlock, top: float, bottom: float) -> Iterator[tuple[int, float]]:
        """Yield the rows of a table between two heights, each with its top."""
        if placed.table is None:
            return
        first = bisect_right(range(placed.table.qt.rows()), top, key=lambda row: self._row_top(placed, row))
        for row in range(max(0, first - 1), placed.table.qt.rows()):
            y = self._row_top(placed, row)
            if y > bottom:
                return
            yield row, y

    def _row_top(self, placed: PlacedBlock, row: int) -> float:
        if placed.table is None:
            return 0
        block = placed.table.qt.cellAt(row, 0).firstCursorPosition().block()
        return self.rect(block).top() - self._measures.cell_y

    def _table_bottom(self, table: QTextTable) -> float:
        cells = (table.cellAt(table.rows() - 1, column) for column in range(table.columns()))
        bottoms = [self.rect(cell.lastCursorPosition().block()).bottom() for cell in cells]
        return max(bottoms) + self._measures.cell_y

    def table_right(self, placed: PlacedBlock) -> float:
        if placed.table is None:
            return 0
        return self._document.documentLayout().frameBoundingRect(placed.table.qt).width()


def _split_at_objects(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a range so that every formula in it is a piece of its own."""
    while start < end:
        found = text.find(OBJECT, start, end)
        stop = start + 1 if found == start else found if found >= 0 else end
        yield start, stop
        start = stop


# Letters written from right to left, and the control characters that set a direction.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_TOUCHING = 0.5  # pixels; letters that are no further apart are neighbours


def _extents(line: QTextLine, text: str, start: int, end: int) -> Iterator[tuple[float, float]]:
    """Yield the left and right edges of the range from `start` to `end` in `line` of a block's `text`.

    Positions are in UTF-16 units. Where the direction changes, a range is shown in several pieces.
    """
    # A cursor between two directions has two positions, of which Qt tells one; glyphs have one each.
    runs = line.glyphRuns(start, end - start) if _RIGHT_TO_LEFT.search(text) else []
    pieces = sorted((box.left(), box.right()) for box in (run.boundingRect() for run in runs))
    if not pieces:
        left, right = sorted((_x(line, start), _x(line, end)))
        pieces = [(left, right)]
    left, right = pieces[0]
    for low, high in pieces[1:]:
        if low > right + _TOUCHING:
            yield left, right
            left = low
        right = max(right, high)
    yield left, right


def _x(line: QTextLine, position: int) -> float:
    # PySide returns a tuple, against its stubs.
    result: Any = line.cursorToX(position)
    return float(result[0])
