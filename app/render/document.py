"""Writes leaves into a QTextDocument, changing only what differs.

Of a streaming message the frozen leaves are never touched again, and of the live tail only the text behind the common
prefix of old and new runs, the added lines of code and the changed rows of a table are written. Work that can wait,
typesetting formulas and colouring finished code, is left to `DocumentWriter.refine`, which is called with a time limit.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor

from app.render.blocks import (
    Code,
    Heading,
    Mark,
    Paragraph,
    Run,
    Table,
    is_display_formula,
    text_of,
    utf16_length,
)
from app.render.code_block import CodeBlock
from app.render.markdown_stream import Update
from app.render.math import FormulaObject, insert_runs, is_tall, is_waiting, typeset_all
from app.render.style import Formats, direction
from app.render.table import TableBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from PySide6.QtGui import QTextDocument

    from app.render.blocks import Leaf
    from app.render.code_colors import Spans
    from app.render.style import RenderStyle


@dataclass(slots=True, eq=False)
class PlacedBlock:
    """A leaf at its position in the document.

    Attributes:
        shape: The leaf; a code block without its text, which is in `code`.
        start: Position of its first text block in the document.
    """

    shape: Leaf
    start: int
    table: TableBlock | None = None
    code: CodeBlock | None = None

    @property
    def leaf(self) -> Leaf:
        """The whole leaf, with the text of a code block."""
        if self.code is not None and isinstance(self.shape, Code):
            return replace(self.shape, text=self.code.text())
        return self.shape


def common_prefix(old: Sequence[Run], new: Sequence[Run]) -> tuple[int, int, list[Run]]:
    """Compare two rows of runs.

    Returns:
        The length of their common prefix in UTF-16 units of the document, the number of whole runs in it, and the runs
        of `new` behind it.
    """
    shared_length = 0
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before == after:
            shared_length += before.length
            continue
        if (before.marks, before.href) != (after.marks, after.href) or after.marks & (Mark.MATH | Mark.CODE):
            return shared_length, index, list(new[index:])
        shared = _common_length(before.text, after.text)
        shared_length += utf16_length(after.text[:shared])
        return shared_length, index, [replace(after, text=after.text[shared:]), *new[index + 1 :]]
    return shared_length, min(len(old), len(new)), list(new[len(old) :])


def _common_length(one: str, other: str) -> int:
    if other.startswith(one):
        return len(one)  # the usual case, and quick
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


class DocumentWriter:
    """Keeps a document equal to a row of leaves; `leaves_written` counts how often one was written or changed."""

    def __init__(self, document: QTextDocument, style: RenderStyle) -> None:
        self._document = document
        self.formats = Formats(style)
        self.placed: list[PlacedBlock] = []
        self.leaves_written = 0
        self._frozen = 0
        self._recoloring: list[tuple[PlacedBlock, Iterator[tuple[int, Spans]]]] = []
        self._formulas = FormulaObject(document)
        self._untypeset: list[tuple[PlacedBlock, Iterator[None]]] = []
        self.formats.prepare(self._document, 4 * self.formats.code_width)

    def apply(self, update: Update) -> None:
        with _edit(self._document):
            if update.tail is not None:
                self._replace(self._frozen, (*update.frozen, *update.tail))
                self._frozen += len(update.frozen)
            if update.appended and self.placed:
                self._append(self.placed[-1], update.appended)

    def show(self, leaves: Sequence[Leaf]) -> None:
        with _edit(self._document):
            self._replace(0, leaves)
        self._frozen = len(leaves)

    def restyle(self, style: RenderStyle) -> None:
        """Write everything again in another style."""
        leaves = [each.leaf for each in self.placed]
        unwrapped = [index for index, each in enumerate(self.placed) if each.code and not each.code.wrapped]
        self.formats = Formats(style)
        with _edit(self._document):
            self._truncate(0)
            self.formats.prepare(self._document, 4 * self.formats.code_width)
            self._replace(0, leaves)
            for code in (self.placed[index].code for index in unwrapped):
                if code is not None:
                    code.set_wrapped(on=False)

    def fit_tables(self) -> None:
        with _edit(self._document):
            for placed in self.placed:
                if placed.table is not None:
                    placed.table.fit(self._document.textWidth())

    def refine(self, more: Callable[[], bool]) -> bool:
        """Typeset formulas and colour finished code while `more` returns true; return whether any are left."""
        if not self._recoloring and not self._untypeset:
            return False
        with _edit(self._document):
            while self._untypeset and more():
                placed, steps = self._untypeset[0]
                if next(steps, steps) is steps:
                    del self._untypeset[0]
                    self._rewrite(placed)
            while self._recoloring and more():
                placed, changes = self._recoloring[0]
                change = next(changes, None)
                if change is None:
                    del self._recoloring[0]
                elif placed.code is not None:
                    placed.code.color_line(*change)
        return bool(self._recoloring or self._untypeset)

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    def _replace(self, first: int, leaves: Sequence[Leaf]) -> None:
        index = first
        for leaf in leaves:
            if index == len(self.placed) or self.placed[index].leaf != leaf:
                break
            self._close_code(self.placed[index], leaf)
            index += 1
        rest = leaves[index - first :]
        if rest and index < len(self.placed):
            self._truncate(index + 1)
            if self._amend(self.placed[index], rest[0]):
                rest = rest[1:]
                index += 1
        self._truncate(index)
        for leaf in rest:
            self._write(leaf)

    def _truncate(self, count: int) -> None:
        if count >= len(self.placed):
            return
        end = max(0, self.placed[count].start - 1)
        last = self._document.findBlock(end)
        kept = last.blockFormat() if count else QTextBlockFormat()
        colors = last.layout().formats() if count else []
        cursor = self._end()
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # An empty text block takes on the format of what was removed behind it, and the colours if that was code.
        cursor.setBlockFormat(kept)
        cursor.block().layout().setFormats(colors)
        removed = self.placed[count:]
        del self.placed[count:]
        self._recoloring = [each for each in self._recoloring if each[0] not in removed]
        self._untypeset = [each for each in self._untypeset if each[0] not in removed]

    def _write(self, leaf: Leaf) -> None:
        before = self.placed[-1].shape if self.placed else None
        cursor = self._end()
        if before is not None:
            cursor.insertBlock(QTextBlockFormat(), QTextCharFormat())
        placed = PlacedBlock(leaf, cursor.position())
        self.placed.append(placed)
        self.leaves_written += 1
        if isinstance(leaf, Table):
            placed.table = TableBlock(cursor, leaf, before, self.formats)
            placed.shape = placed.table.leaf
            placed.table.fit(self._document.textWidth())
            return
        runs = leaf.runs if isinstance(leaf, Paragraph | Heading) else ()
        block = self.formats.block(leaf, before, text_of(runs))
        cursor.setBlockFormat(block)
        if before is None:
            self._set_head_room(block.topMargin())
        if isinstance(leaf, Paragraph | Heading):
            self._set_runs(placed, leaf, insert_runs(cursor, leaf, runs, self.formats))
        if isinstance(leaf, Code):
            placed.shape = replace(leaf, text="")
            placed.code = CodeBlock(self._document, placed.start, leaf.language, block, self.formats)
            placed.code.add(leaf.text, color=leaf.is_open)
            if not leaf.is_open:
                self._recoloring.append((placed, placed.code.recolor()))

    def _set_head_room(self, height: float) -> None:
        """Leave room above the first line for the header of a code block: Qt ignores the margin of a first block."""
        frame = self._document.rootFrame()
        room = frame.frameFormat()
        room.setTopMargin(height)
        frame.setFrameFormat(room)

    def _set_runs(self, placed: PlacedBlock, leaf: Paragraph | Heading, runs: Sequence[Run]) -> None:
        """Note the runs that the document has for `leaf`, and which formulas are still to be typeset."""
        placed.shape = leaf = replace(leaf, runs=tuple(runs))
        if any(is_tall(run, leaf, self.formats) for run in runs):
            cursor = QTextCursor(self._document.findBlock(placed.start))
            cursor.setBlockFormat(self.formats.heightened(cursor.blockFormat()))
        if any(is_waiting(run) for run in runs) and all(each[0] is not placed for each in self._untypeset):
            self._untypeset.append((placed, typeset_all(leaf.runs)))

    def _rewrite(self, placed: PlacedBlock) -> None:
        """Write a paragraph anywhere in the document again: its formulas are typeset now."""
        leaf = placed.shape
        if not isinstance(leaf, Paragraph | Heading):
            return
        cursor = QTextCursor(self._document)
        cursor.setPosition(placed.start)
        old = sum(run.length for run in leaf.runs)
        cursor.setPosition(placed.start + old, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        runs = insert_runs(cursor, leaf, leaf.runs, self.formats)
        self._set_runs(placed, leaf, runs)
        self.leaves_written += 1
        moved = sum(run.length for run in runs) - old
        for later in self.placed[self.placed.index(placed) + 1 :]:
            later.start += moved

    def _amend(self, placed: PlacedBlock, leaf: Leaf) -> bool:
        """Turn the last leaf into `leaf` if they differ only in their text; return whether they do."""
        old = placed.leaf
        match old, leaf:
            case Paragraph(), Paragraph() if (old.containers, old.continues) == (
                leaf.containers,
                leaf.continues,
            ):
                self._amend_runs(placed, old, leaf)
            case Heading(), Heading() if (old.containers, old.level) == (leaf.containers, leaf.level):
                self._amend_runs(placed, old, leaf)
            case Table(), Table() if (old.containers, old.aligns) == (
                leaf.containers,
                leaf.aligns,
            ) and placed.table:
                placed.table.amend(leaf)
                placed.table.fit(self._document.textWidth())
                placed.shape = placed.table.leaf
            case Code(), Code() if (old.containers, old.language) == (leaf.containers, leaf.language):
                if placed.code is None or not leaf.text.startswith(old.text):
                    return False
                placed.code.add(leaf.text[len(old.text) :], color=True)
                self._close_code(placed, leaf)
            case _:
                return False
        self.leaves_written += 1
        return True

    def _amend_runs(self, placed: PlacedBlock, old: Paragraph | Heading, leaf: Paragraph | Heading) -> None:
        text = text_of(leaf.runs)
        turned = direction(text) != direction(text_of(old.runs))
        shared, same, rest = common_prefix(() if turned else old.runs, leaf.runs)
        cursor = self._end()
        cursor.setPosition(placed.start + shared, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if turned or is_display_formula(leaf) != is_display_formula(old):
            index = self.placed.index(placed)
            before = self.placed[index - 1].shape if index else None
            cursor.setBlockFormat(self.formats.block(leaf, before, text))
        inserted = insert_runs(cursor, leaf, rest, self.formats)
        pairs = zip(leaf.runs[same:], inserted, strict=True)
        runs = (
            *old.runs[:same],
            *(replace(run, drawn=shown.drawn, isolated=shown.isolated) for run, shown in pairs),
        )
        self._set_runs(placed, leaf, runs)

    def _append(self, last: PlacedBlock, text: str) -> None:
        """Append text that was not parsed to the last leaf, if it is open code or a paragraph."""
        leaf = last.shape
        if last.code is not None and isinstance(leaf, Code) and leaf.is_open:
            last.code.add(text, color=True)
        elif isinstance(leaf, Paragraph):
            run = Run(text)
            insert_runs(self._end(), leaf, [run], self.formats)
            last.shape = replace(leaf, runs=(*leaf.runs, run))
        else:
            return
        self.leaves_written += 1

    def _close_code(self, placed: PlacedBlock, leaf: Leaf) -> None:
        """Note that a code block has ended, and colour it once more as a whole."""
        old = placed.shape
        if placed.code is not None and isinstance(old, Code) and isinstance(leaf, Code):
            placed.shape = replace(old, is_open=leaf.is_open)
            if old.is_open and not leaf.is_open:
                self._recoloring.append((placed, placed.code.recolor()))


@contextmanager
def _edit(document: QTextDocument) -> Iterator[None]:
    """Group all changes into one edit: the document is laid out once, at the end."""
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    try:
        yield
    finally:
        cursor.endEditBlock()


# Sizes of chunks in characters. Few messages are longer than the first chunk.
_FIRST_CHUNK = 60_000
_NEXT_CHUNK = 12_000
_LINE_COST = 30  # a line costs as much as about so many characters


def chunks(leaves: Sequence[Leaf]) -> Iterator[Update]:
    """Yield updates that together write `leaves` into an empty document, each in a moment."""
    room = _FIRST_CHUNK
    ready: list[Leaf] = []
    for leaf in leaves:
        size = _size(leaf)
        if size > room and ready:
            yield Update(frozen=tuple(ready), tail=())
            ready, room = [], _NEXT_CHUNK
        if isinstance(leaf, Code) and size > room:
            yield from _code_chunks(leaf)
            room = _NEXT_CHUNK
        else:
            ready.append(leaf)
            room -= size
    if ready:
        yield Update(frozen=tuple(ready), tail=())


def _code_chunks(leaf: Code) -> Iterator[Update]:
    pieces = text_chunks(leaf.text)
    yield Update(tail=(replace(leaf, text=next(pieces), is_open=True),))
    for piece in pieces:
        yield Update(appended=piece)
    yield Update(frozen=(leaf,), tail=())


def text_chunks(text: str) -> Iterator[str]:
    """Yield `text` in pieces that take about the same time to lay out."""
    start = 0
    while start < len(text):
        end = min(len(text), start + _NEXT_CHUNK)
        lines = text.count("\n", start, end)
        if lines * _LINE_COST > _NEXT_CHUNK:
            end = start + max(1, (end - start) * _NEXT_CHUNK // (lines * _LINE_COST))
        yield text[start:end]
        start = end


def _size(leaf: Leaf) -> int:
    match leaf:
        case Code():
            return len(leaf.text) + _LINE_COST * leaf.text.count("\n")
        case Paragraph() | Heading():
            return len(text_of(leaf.runs)) + _LINE_COST
        case Table():
            return sum(len(text_of(cell)) + _LINE_COST for row in leaf.rows for cell in row)
        case _:
            return _LINE_COST
