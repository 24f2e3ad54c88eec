"""What is selected in a document, as leaves, so that it is copied for what it is and not for how it looks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.render.blocks import Code, Heading, Paragraph, Rule, Run, Table, unmarked
from app.render.plain import text_between
from app.render.units import part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QTextCursor, QTextTable

    from app.render.blocks import Cell, Leaf
    from app.render.written import Written


def selected_leaves(written: Sequence[Written], cursor: QTextCursor) -> list[Leaf]:
    """Return the leaves of a document, or parts of them, that `cursor` has selected."""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    found: list[Leaf] = []
    for index, each in enumerate(written):
        last = (
            written[index + 1].start - 1
            if index + 1 < len(written)
            else cursor.document().characterCount() - 1
        )
        if last < start:
            continue
        if each.start >= end:
            break
        found += _part(each, max(start, each.start), min(end, last), cursor)
    return found


def _part(written: Written, start: int, end: int, cursor: QTextCursor) -> list[Leaf]:
    """Return what of a leaf lies between two positions of the document."""
    leaf = written.shape
    place = leaf.place if start == written.start else unmarked(leaf.place)
    match leaf:
        case Code():
            return [replace(leaf, place=place, text=text_between(cursor.document(), start, end))]
        case Paragraph() | Heading():
            runs = slice_runs(leaf.runs, start - written.start, end - written.start)
            return [replace(leaf, place=place, runs=runs)]
        case Table():
            return _table_part(written.table.qt, leaf, start, end) if written.table else []
        case Rule():
            return [leaf]


def _table_part(table: QTextTable, leaf: Table, start: int, end: int) -> list[Leaf]:
    if end < table.firstPosition() or start > table.lastPosition():
        return []
    first = table.cellAt(max(start, table.firstPosition()))
    last = table.cellAt(min(end, table.lastPosition()))
    if first == last:
        origin = first.firstPosition()
        runs = slice_runs(leaf.rows[first.row()][first.column()], start - origin, end - origin)
        return [Paragraph(leaf.place, runs)]
    columns = slice(None)
    if start >= table.firstPosition() and end <= table.lastPosition():
        left, right = sorted((first.column(), last.column()))
        columns = slice(left, right + 1)
    rows = leaf.rows[first.row() : last.row() + 1]
    return [Table(leaf.place, leaf.aligns[columns], tuple(row[columns] for row in rows))]


def slice_runs(runs: Cell, start: int, end: int) -> Cell:
    """Return `runs` from `start` to `end`, in UTF-16 units."""
    found: list[Run] = []
    position = 0
    for run in runs:
        first, last = max(0, start - position), end - position
        if first < run.length and last > 0:
            text = part(run.text, max(0, first - run.lead), max(0, last - run.lead))
            found.append(run if run.drawn else replace(run, text=text))
        position += run.length
    return tuple(found)
