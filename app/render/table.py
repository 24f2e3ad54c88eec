"""A table in a document: columns are fitted to their words, and only the rows that differ are written again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QFontMetricsF, QTextLength, QTextTableCellFormat

from app.render.blocks import text_of
from app.render.math import insert_runs, is_tall, typeset_all, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QTextCursor

    from app.render.blocks import Cell, Leaf, Table
    from app.render.style import Formats, Measures


# In whole pixels: Qt rounds each column, and a word that misses its width by a fraction would be broken.
CellWidths = tuple[int, int]
"""Widths of a cell in pixels: that of its longest word, and that of all its text on one line."""

_MIN_EMS = 12  # a column is not narrower, unless its words are: rather, the table is scrolled sideways


class TableBlock:
    """Writes one table at `cursor`, in an empty text block; `overflow` is by how many pixels it is too wide."""

    def __init__(self, cursor: QTextCursor, leaf: Table, before: Leaf | None, formats: Formats) -> None:
        self._formats = formats
        self.leaf = leaf
        # Qt keeps an empty text block before a table and one behind it. They take no room, and only a hair when
        # they are selected.
        cursor.setBlockCharFormat(formats.hair())
        self.qt = cursor.insertTable(len(leaf.rows), len(leaf.aligns), formats.table(leaf, before))
        behind = self.qt.lastCursorPosition()
        behind.movePosition(cursor.MoveOperation.NextBlock)
        behind.setBlockCharFormat(formats.hair())
        self._measures = [self._write_row(row) for row in range(len(leaf.rows))]
        self._widths: list[int] = []
        self.overflow = 0
        self._shift = 0

    def amend(self, leaf: Table) -> None:
        """Show `leaf` instead, which has the same columns."""
        old = self.leaf
        same = 0
        for before, after in zip(old.rows, leaf.rows, strict=False):
            if before != after:
                break
            same += 1
        self.leaf = replace(leaf, rows=(*old.rows[:same], *leaf.rows[same:]))
        count = len(leaf.rows)
        if count > self.qt.rows():
            self.qt.appendRows(count - self.qt.rows())
        elif count < self.qt.rows():
            self.qt.removeRows(count, self.qt.rows() - count)
        del self._measures[same:]
        self._measures += [self._write_row(row) for row in range(same, count)]

    def fit(self, width: float) -> None:
        """Fit the columns into `width` pixels: no word is broken that need not be, and none into single letters."""
        if width <= 0:
            return  # the document has no width yet
        columns = list(zip(*self._measures, strict=True))
        least = [max(cell[0] for cell in column) for column in columns]
        most = [max(cell[1] for cell in column) for column in columns]
        room = width - self._formats.measures.indent(self.leaf.containers)
        narrowest = _MIN_EMS * self._formats.style.text_size
        shares = zip(_shares(least, most, room), least, strict=True)
        widths = [max(share, min(low, narrowest)) for share, low in shares]
        overflow = max(0, math.ceil(sum(widths) - room))
        if (widths, overflow) == (self._widths, self.overflow):
            return
        self._widths, self.overflow = widths, overflow
        self._shift = min(self._shift, overflow)
        self._format()

    def shift(self, pixels: int) -> None:
        """Scroll a table that is too wide sideways by `pixels`."""
        if pixels != self._shift:
            self._shift = pixels
            self._format()

    def _format(self) -> None:
        measures = self._formats.measures
        form = self.qt.format()
        form.setLeftMargin(measures.indent(self.leaf.containers) - self._shift)
        form.setBottomMargin(measures.code_bottom if self.overflow else 0)
        fixed = QTextLength.Type.FixedLength
        form.setColumnWidthConstraints([QTextLength(fixed, width) for width in self._widths])
        self.qt.setFormat(form)

    def _write_row(self, row: int) -> list[CellWidths]:
        measures = []
        cells: list[Cell] = []
        for column, align in enumerate(self.leaf.aligns):
            runs = self.leaf.rows[row][column]
            cell = self.qt.cellAt(row, column)
            cell.setFormat(_padding(column, self._formats.measures))
            cursor = cell.firstCursorPosition()
            cursor.setPosition(cell.lastCursorPosition().position(), cursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            cursor.setBlockFormat(self._formats.cell(align, text_of(runs)))
            for _ in typeset_all(runs):
                pass  # there are few, and a column is as wide as its formulas
            cells.append(tuple(insert_runs(cursor, self.leaf, runs, self._formats, header=row == 0)))
            if any(is_tall(run, self.leaf, self._formats) for run in cells[-1]):
                cursor.setBlockFormat(self._formats.heightened(cursor.blockFormat()))
            measures.append(self._measure(cells[-1], column, header=row == 0))
        rows = self.leaf.rows
        self.leaf = replace(self.leaf, rows=(*rows[:row], tuple(cells), *rows[row + 1 :]))
        return measures

    def _measure(self, runs: Cell, column: int, *, header: bool) -> CellWidths:
        longest = total = 0.0
        for run in runs:
            if run.drawn:
                width = width_of(run.text, self._formats.style.text_size)
                longest, total = max(longest, width), total + width
                continue
            form = self._formats.chars(self.leaf, run.marks, run.href, header=header)
            metrics = QFontMetricsF(form.font())
            total += metrics.horizontalAdvance(run.text)
            longest = max([longest, *(metrics.horizontalAdvance(word) for word in run.text.split())])
        around = self._formats.measures.cell_x * (2 if column else 1) + 1
        return math.ceil(longest) + around, math.ceil(total) + around


def _shares(least: Sequence[int], most: Sequence[int], width: float) -> list[int]:
    """Distribute `width` among columns that need `least` and want `most` each."""
    if sum(most) <= width:
        return list(most)
    if sum(least) >= width:
        highest = int(_cap(least, width))
        return [min(amount, highest) for amount in least]
    spare = width - sum(least)
    wanted = sum(most) - sum(least)
    return [low + int(spare * (high - low) / wanted) for low, high in zip(least, most, strict=True)]


def _cap(amounts: Sequence[int], total: float) -> float:
    """Return the limit at which the `amounts`, capped to it, sum up to `total`."""
    rest = total
    for position, amount in enumerate(sorted(amounts)):
        share = rest / (len(amounts) - position)
        if amount > share:
            return share
        rest -= amount
    return max(amounts)


def _padding(column: int, measures: Measures) -> QTextTableCellFormat:
    result = QTextTableCellFormat()
    result.setLeftPadding(measures.cell_x if column else 0)
    result.setRightPadding(measures.cell_x)
    result.setTopPadding(measures.cell_y)
    result.setBottomPadding(measures.cell_y)
    return result
