"""Selections, mapped back to the markdown source."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.render.blocks import Code, Heading, Paragraph, Rule, Run, Table, part, units, unmarked
from app.render.export import text_between
from app.render.markdown import leaf_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QTextCursor, QTextTable

    from app.render.blocks import Cell, Leaf
    from app.render.document import PlacedBlock


def selected_leaves(written: Sequence[PlacedBlock], cursor: QTextCursor) -> list[Leaf]:
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


def _part(written: PlacedBlock, start: int, end: int, cursor: QTextCursor) -> list[Leaf]:
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


_TARGET = re.compile(r"\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_LOOK_AHEAD = (16, 4, 1)


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A part of a text block of the document, in UTF-16 units.

    Attributes:
        leaf: Number of the leaf.
        part: Of code, the number of the line; of a table, that of the cell, row by row; else 0.
        start: Where it begins in the text block; `end` is where it ends.
    """

    leaf: int
    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Text that stands in the source in one piece, from `source` on."""

    source: int
    text: str
    leaf: int
    part: int
    start: int
    drawn: bool = False

    def cut(self, start: int, end: int) -> SourceSpan:
        """Return the place of the characters of the source from `start` to `end`."""
        if self.drawn:
            return SourceSpan(self.leaf, self.part, self.start, self.start + 1)
        first = max(0, start - self.source)
        begin = self.start + units(self.text[:first])
        return SourceSpan(self.leaf, self.part, begin, begin + units(self.text[first : end - self.source]))


class SourceMap:
    """Maps parts of the source to parts of the document.

    What is shown is looked for in the lines that its leaf was read from, in order, a run at a time: a run stands in the
    source in one piece, unless there are escapes in it.

    Args:
        source: Clean markdown.
        leaves: What the document shows of it.
    """

    def __init__(self, source: str, leaves: Sequence[Leaf]) -> None:
        self._source = source
        self._stretches: list[_Stretch] = []
        self._at = 0
        starts = [0]
        for line in source.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for number, (leaf, (first, last)) in enumerate(zip(leaves, leaf_lines(source), strict=False)):
            self._at = max(self._at, starts[min(first, len(starts) - 1)])
            self._end = min(starts[min(last, len(starts) - 1)], len(source))
            self._read(number, leaf)
        self._starts = [each.source for each in self._stretches]

    def places(self, start: int, end: int) -> list[SourceSpan]:
        """Return where the characters of the source from `start` to `end` stand."""
        found = []
        for stretch in self._stretches[max(0, bisect_right(self._starts, start) - 1) :]:
            if stretch.source >= end:
                break
            if stretch.source + len(stretch.text) > start:
                found.append(stretch.cut(start, end))
        return found

    def _read(self, number: int, leaf: Leaf) -> None:
        match leaf:
            case Paragraph() | Heading():
                self._read_runs(number, 0, leaf.runs)
            case Code():
                for part, line in enumerate(leaf.text.split("\n")):
                    self._read_runs(number, part, (Run(line),))
            case Table():
                for row, cells in enumerate(leaf.rows):
                    for column, cell in enumerate(cells):
                        self._read_runs(number, row * len(leaf.aligns) + column, cell)
            case _:
                pass

    def _read_runs(self, number: int, part: int, runs: Sequence[Run]) -> None:
        position = 0
        before = ""
        for run in runs:
            if before != run.href and (target := _TARGET.match(self._source, self._at, self._end)):
                self._at = target.end()
            before = run.href
            if run.drawn:
                self._take(number, part, position, run.text, drawn=True)
            else:
                start = position + run.lead
                for piece in _pieces(run.text):
                    self._take_some(number, part, start, piece)
                    start += units(piece)
            position += run.length

    def _take(self, number: int, part: int, position: int, text: str, *, drawn: bool = False) -> bool:
        """Note where `text` is in the source, when it is there in one piece."""
        found = self._source.find(text, self._at, self._end) if text else -1
        if found < 0:
            return False
        self._stretches.append(_Stretch(found, text, number, part, position, drawn))
        self._at = found + len(text)
        return True

    def _take_some(self, number: int, part: int, position: int, text: str) -> None:
        """Note where the characters of `text` are that are not in the source in one piece."""
        if self._take(number, part, position, text):
            return
        index = 0
        while index < len(text):
            for length in _LOOK_AHEAD:
                piece = text[index : index + length]
                if self._take(number, part, position, piece):
                    break
            index += len(piece)
            position += units(piece)


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines of `text`, and the line breaks between them."""
    yield from (piece for piece in re.split("(\n)", text) if piece)
