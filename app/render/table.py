"""Tables: leaves into QTextTables, of which only the rows that differ are written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QTextTableCellFormat

from app.render.blocks import text_of
from app.render.formats import CELL_PADDING_X, CELL_PADDING_Y

if TYPE_CHECKING:
    from PySide6.QtGui import QTextCursor, QTextTable

    from app.render.blocks import Cell, Leaf, Table
    from app.render.formats import Formats


def write_table(cursor: QTextCursor, leaf: Table, before: Leaf | None, formats: Formats) -> QTextTable:
    """Insert `leaf` at `cursor`, an empty text block."""
    table = cursor.insertTable(len(leaf.rows), len(leaf.aligns), formats.table(leaf, before))
    for row in range(len(leaf.rows)):
        _write_row(table, leaf, row, formats)
    return table


def amend_table(table: QTextTable, old: Table, new: Table, formats: Formats) -> None:
    """Make `table` show `new` instead of `old`, which has the same columns."""
    same = 0
    for before, after in zip(old.rows, new.rows, strict=False):
        if before != after:
            break
        same += 1
    if len(new.rows) > len(old.rows):
        table.appendRows(len(new.rows) - len(old.rows))
    elif len(new.rows) < len(old.rows):
        table.removeRows(len(new.rows), len(old.rows) - len(new.rows))
    for row in range(same, len(new.rows)):
        _write_row(table, new, row, formats)


def _write_row(table: QTextTable, leaf: Table, row: int, formats: Formats) -> None:
    for column, align in enumerate(leaf.aligns):
        runs = leaf.rows[row][column]
        cell = table.cellAt(row, column)
        cell.setFormat(_padding(column))
        cursor = cell.firstCursorPosition()
        cursor.setPosition(cell.lastCursorPosition().position(), cursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.setBlockFormat(formats.cell(align, text_of(runs)))
        _insert(cursor, leaf, runs, formats, header=row == 0)


def _insert(cursor: QTextCursor, leaf: Table, runs: Cell, formats: Formats, *, header: bool) -> None:
    for run in runs:
        text = run.text.replace("\n", "\u2028")
        cursor.insertText(text, formats.chars(leaf, run.marks, run.href, header=header))


def _padding(column: int) -> QTextTableCellFormat:
    result = QTextTableCellFormat()
    result.setLeftPadding(CELL_PADDING_X if column else 0)
    result.setRightPadding(CELL_PADDING_X)
    result.setTopPadding(CELL_PADDING_Y)
    result.setBottomPadding(CELL_PADDING_Y)
    return result
