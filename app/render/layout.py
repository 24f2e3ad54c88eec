"""Geometry of laid-out lines and blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QTextBlockFormat, QTextCursor

from app.render.blocks import by_unit
from app.render.math import OBJECT, reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QFontMetricsF, QTextBlock, QTextCharFormat, QTextDocument, QTextLine, QTextTable

    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.style import Measures


# Letters from right to left, and the signs that set a direction.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_HAIR = 0.5  # pixels; letters that are no further apart stand side by side


def spans(line: QTextLine, text: str, start: int, end: int) -> Iterator[tuple[float, float]]:
    """Yield the left and right edges of what shows the range from `start` to `end` in `line` of a block's `text`.

    Positions are in UTF-16 units.
    """
    # A cursor between two directions has two places, of which Qt tells one: glyphs have one each.
    runs = line.glyphRuns(start, end - start) if _RIGHT_TO_LEFT.search(text) else []
    pieces = sorted((box.left(), box.right()) for box in (run.boundingRect() for run in runs))
    if not pieces:
        left, right = sorted((_x(line, start), _x(line, end)))
        pieces = [(left, right)]
    left, right = pieces[0]
    for low, high in pieces[1:]:
        if low > right + _HAIR:
            yield left, right
            left = low
        right = max(right, high)
    yield left, right


def _x(line: QTextLine, position: int) -> float:
    # PySide returns the position with it, which its stubs do not say.
    result: Any = line.cursorToX(position)
    return float(result[0])


_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


class Geometry:
    """Answers for one document; every answer costs the same however long the document is."""

    def __init__(self, document: QTextDocument, writer: DocumentWriter) -> None:
        self._document = document
        self._writer = writer

    @property
    def _measures(self) -> Measures:
        return self._writer.formats.measures

    def height(self) -> float:
        """Return the height of everything, with what is painted below the last line."""
        written = self._writer.written
        below = self._measures.code_bottom if written and written[-1].code is not None else 0
        return self._document.size().height() + below

    def width(self) -> float:
        """Return the width that the text is laid out in."""
        return self._document.textWidth()

    def in_view(self, top: float, bottom: float) -> Iterator[PlacedBlock]:
        """Yield the leaves that reach between two heights."""
        written = self._writer.written
        layout = self._document.documentLayout()
        position = layout.hitTest(QPointF(0, top), Qt.HitTestAccuracy.FuzzyHit)
        index = bisect_right(written, position, key=lambda each: each.start) - 2
        for each in written[max(0, index) :]:
            if self.top(each) > bottom:
                return
            yield each

    def index(self, written: PlacedBlock) -> int:
        """Return the number of a leaf."""
        return bisect_right(self._writer.written, written.start, key=lambda each: each.start) - 1

    def lines_in_view(self, written: PlacedBlock, top: float, bottom: float) -> range:
        """Return the lines of a code block that reach between two heights."""
        first = self.first_block(written).blockNumber()
        last = self.last_block(written).blockNumber()
        layout = self._document.documentLayout()
        ends = (layout.hitTest(QPointF(0, y), Qt.HitTestAccuracy.FuzzyHit) for y in (top, bottom))
        begin, end = (self._document.findBlock(position).blockNumber() for position in ends)
        return range(max(0, begin - 1 - first), max(0, min(end, last) + 1 - first))

    def boxes(self, block: QTextBlock, start: int, end: int, metrics: QFontMetricsF) -> Iterator[QRectF]:
        """Yield the boxes of a range of `block`, as high as the letters of `metrics` or as the formula in them."""
        layout = block.layout()
        origin = self.rect(block).topLeft()
        text = block.text()
        signs = by_unit(text)
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            first, last = max(start, line.textStart()), min(end, line.textStart() + line.textLength())
            baseline = origin.y() + line.y() + line.ascent()
            for begin, stop in _between_objects(signs, first, last):
                above, below = metrics.ascent(), metrics.descent()
                if signs[begin] == OBJECT:
                    position = block.position() + begin
                    above, below = reach(self._document, position, self._format(position))
                for left, right in spans(line, text, begin, stop):
                    yield QRectF(origin.x() + left, baseline - above, right - left, above + below)

    def _format(self, position: int) -> QTextCharFormat:
        """Return the format of the character at `position`."""
        cursor = QTextCursor(self._document)
        cursor.setPosition(position + 1)
        return cursor.charFormat()

    def before(self, written: PlacedBlock) -> PlacedBlock | None:
        """Return the leaf before `written`."""
        index = bisect_right(self._writer.written, written.start, key=lambda each: each.start) - 2
        return self._writer.written[index] if index >= 0 else None

    def first_block(self, written: PlacedBlock) -> QTextBlock:
        """Return the first text block of a leaf; of a table, that of its first cell."""
        start = written.start if written.table is None else written.table.qt.firstPosition()
        return self._document.findBlock(start)

    def last_block(self, written: PlacedBlock) -> QTextBlock:
        """Return the last text block of a leaf."""
        if written.table is not None:
            return self._document.findBlock(written.table.qt.lastPosition())
        index = bisect_right(self._writer.written, written.start, key=lambda each: each.start)
        if index == len(self._writer.written):
            return self._document.lastBlock()
        return self._document.findBlock(self._writer.written[index].start - 1)

    def rect(self, block: QTextBlock) -> QRectF:
        """Return the box of a text block: all its lines, each as high as the format says."""
        box = self._document.documentLayout().blockBoundingRect(block)
        if block.blockFormat().lineHeightType() == _FIXED:
            box.setHeight(block.layout().lineCount() * block.blockFormat().lineHeight())
        return box

    def top(self, written: PlacedBlock) -> float:
        """Return where a leaf begins, with what is painted above its first line."""
        above = (
            self._measures.code_header
            if written.code is not None
            else self._measures.cell_y
            if written.table is not None
            else 0
        )
        return self.rect(self.first_block(written)).top() - above

    def bottom(self, written: PlacedBlock) -> float:
        """Return where a leaf ends, with what is painted below its last line."""
        if written.table is not None:
            return self._table_bottom(written.table.qt)
        below = self._measures.code_bottom if written.code is not None else 0
        return self.rect(self.last_block(written)).bottom() + below

    def panel(self, written: PlacedBlock) -> QRectF:
        """Return the panel of a code block."""
        left = self._measures.indent(written.shape.place)
        top = self.top(written)
        return QRectF(left, top, self.width() - left, self.bottom(written) - top)

    def rows_in_view(self, written: PlacedBlock, top: float, bottom: float) -> Iterator[tuple[int, float]]:
        """Yield the rows of a table that reach between two heights, each with its top."""
        if written.table is None:
            return
        first = bisect_right(range(written.table.qt.rows()), top, key=lambda row: self._row_top(written, row))
        for row in range(max(0, first - 1), written.table.qt.rows()):
            y = self._row_top(written, row)
            if y > bottom:
                return
            yield row, y

    def _row_top(self, written: PlacedBlock, row: int) -> float:
        if written.table is None:
            return 0
        block = written.table.qt.cellAt(row, 0).firstCursorPosition().block()
        return self.rect(block).top() - self._measures.cell_y

    def _table_bottom(self, table: QTextTable) -> float:
        cells = (table.cellAt(table.rows() - 1, column) for column in range(table.columns()))
        bottoms = [self.rect(cell.lastCursorPosition().block()).bottom() for cell in cells]
        return max(bottoms) + self._measures.cell_y

    def table_right(self, written: PlacedBlock) -> float:
        """Return the right edge of a table."""
        if written.table is None:
            return 0
        return self._document.documentLayout().frameBoundingRect(written.table.qt).width()


def _between_objects(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a range so that every formula in it is a part of its own."""
    while start < end:
        found = text.find(OBJECT, start, end)
        stop = start + 1 if found == start else found if found >= 0 else end
        yield start, stop
        start = stop
