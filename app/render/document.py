"""Write blocks into a QTextDocument, changing only what differs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption

from app.render.blocks import Code, Heading, Mark, Paragraph, Run, Table, stands_alone, text_of, units
from app.render.code_block import CodeBlock
from app.render.markdown_stream import Update
from app.render.math import FormulaObject, insert_runs, is_tall, is_waiting, typeset_all
from app.render.style import Formats, direction
from app.render.table import TableBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from PySide6.QtGui import QTextDocument

    from app.render.blocks import Leaf
    from app.render.code import Spans
    from app.render.style import RenderStyle


@dataclass(slots=True, eq=False)
class PlacedBlock:
    """A leaf that stands in the document.

    Attributes:
        shape: The leaf; of a code block without its text, which is in `code`.
        start: Position of its first text block.
        table: The table, when it is one.
        code: The code block, when it is one.
    """

    shape: Leaf
    start: int
    table: TableBlock | None = None
    code: CodeBlock | None = None

    @property
    def leaf(self) -> Leaf:
        """What it shows, whole."""
        if self.code is not None and isinstance(self.shape, Code):
            return replace(self.shape, text=self.code.text())
        return self.shape


def difference(old: Sequence[Run], new: Sequence[Run]) -> tuple[int, int, list[Run]]:
    """Return what two rows of runs share at the start, in UTF-16 units and in runs, and what `new` has behind it."""
    kept = 0
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before == after:
            kept += before.length
            continue
        if (before.marks, before.href) != (after.marks, after.href) or after.marks & (Mark.MATH | Mark.CODE):
            return kept, index, list(new[index:])
        shared = len(_common_prefix(before.text, after.text))
        kept += units(after.text[:shared])
        return kept, index, [replace(after, text=after.text[shared:]), *new[index + 1 :]]
    return kept, min(len(old), len(new)), list(new[len(old) :])


def _common_prefix(one: str, other: str) -> str:
    if other.startswith(one):
        return one
    length = min(len(one), len(other))
    same = next((at for at in range(length) if one[at] != other[at]), length)
    return one[:same]


class DocumentWriter:
    """Keeps a document equal to a row of leaves.

    Attributes:
        formats: The formats of the style in use.
        written: The leaves in the document, in order.
        leaves_written: How many leaves have been written or changed so far.
    """

    def __init__(self, document: QTextDocument, style: RenderStyle) -> None:
        self._document = document
        self.formats = Formats(style)
        self.written: list[PlacedBlock] = []
        self.leaves_written = 0
        self._frozen = 0
        self._recoloring: list[tuple[PlacedBlock, Iterator[tuple[int, Spans]]]] = []
        self._formulas = FormulaObject(document)
        self._untypeset: list[tuple[PlacedBlock, Iterator[None]]] = []
        self._prepare()

    def apply(self, update: Update) -> None:
        """Write what a piece of text changed."""
        with _edit(self._document):
            if update.tail is not None:
                self._replace(self._frozen, (*update.frozen, *update.tail))
                self._frozen += len(update.frozen)
            if update.appended and self.written:
                self._append(self.written[-1], update.appended)

    def show(self, leaves: Sequence[Leaf]) -> None:
        """Make the document show exactly `leaves`."""
        with _edit(self._document):
            self._replace(0, leaves)
        self._frozen = len(leaves)

    def restyle(self, style: RenderStyle) -> None:
        """Write everything again in another style."""
        leaves = [each.leaf for each in self.written]
        unwrapped = [index for index, each in enumerate(self.written) if each.code and not each.code.wrapped]
        self.formats = Formats(style)
        with _edit(self._document):
            self._truncate(0)
            self._prepare()
            self._replace(0, leaves)
            for code in (self.written[index].code for index in unwrapped):
                if code is not None:
                    code.set_wrapped(on=False)

    def fit_tables(self) -> None:
        """Share out the width of the document among the columns of each table."""
        with _edit(self._document):
            for written in self.written:
                if written.table is not None:
                    written.table.fit(self._document.textWidth())

    def refine(self, more: Callable[[], bool]) -> bool:
        """Set formulas and colour finished code as long as `more` says so; return whether any are left."""
        if not self._recoloring and not self._untypeset:
            return False
        with _edit(self._document):
            while self._untypeset and more():
                written, steps = self._untypeset[0]
                if next(steps, steps) is steps:
                    del self._untypeset[0]
                    self._rewrite(written)
            while self._recoloring and more():
                written, changes = self._recoloring[0]
                change = next(changes, None)
                if change is None:
                    del self._recoloring[0]
                elif written.code is not None:
                    written.code.color_line(*change)
        return bool(self._recoloring or self._untypeset)

    def _prepare(self) -> None:
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTabStopDistance(4 * self.formats.code_width)
        self._document.setUndoRedoEnabled(False)
        self._document.setDocumentMargin(0)
        self._document.setDefaultTextOption(option)
        self._document.setDefaultFont(self.formats.text_font())

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    def _replace(self, first: int, leaves: Sequence[Leaf]) -> None:
        """Make the leaves from `first` on equal to `leaves`."""
        index = first
        for leaf in leaves:
            if index == len(self.written) or self.written[index].leaf != leaf:
                break
            self._close_code(self.written[index], leaf)
            index += 1
        rest = leaves[index - first :]
        if rest and index < len(self.written):
            self._truncate(index + 1)
            if self._amend(self.written[index], rest[0]):
                rest = rest[1:]
                index += 1
        self._truncate(index)
        for leaf in rest:
            self._write(leaf)

    def _truncate(self, count: int) -> None:
        """Remove all leaves but the first `count`."""
        if count >= len(self.written):
            return
        end = max(0, self.written[count].start - 1)
        last = self._document.findBlock(end)
        kept = last.blockFormat() if count else QTextBlockFormat()
        colors = last.layout().formats() if count else []
        cursor = self._end()
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # An empty text block takes on the format of what was removed behind it, and the colours if that was code.
        cursor.setBlockFormat(kept)
        cursor.block().layout().setFormats(colors)
        removed = self.written[count:]
        del self.written[count:]
        self._recoloring = [each for each in self._recoloring if each[0] not in removed]
        self._untypeset = [each for each in self._untypeset if each[0] not in removed]

    def _write(self, leaf: Leaf) -> None:
        """Write `leaf` behind all others."""
        before = self.written[-1].shape if self.written else None
        cursor = self._end()
        if before is not None:
            cursor.insertBlock(QTextBlockFormat(), QTextCharFormat())
        written = PlacedBlock(leaf, cursor.position())
        self.written.append(written)
        self.leaves_written += 1
        if isinstance(leaf, Table):
            written.table = TableBlock(cursor, leaf, before, self.formats)
            written.shape = written.table.leaf
            written.table.fit(self._document.textWidth())
            return
        runs = leaf.runs if isinstance(leaf, Paragraph | Heading) else ()
        block = self.formats.block(leaf, before, text_of(runs))
        cursor.setBlockFormat(block)
        if before is None:
            self._set_head_room(block.topMargin())
        if isinstance(leaf, Paragraph | Heading):
            self._set_runs(written, leaf, insert_runs(cursor, leaf, runs, self.formats))
        if isinstance(leaf, Code):
            written.shape = replace(leaf, text="")
            written.code = CodeBlock(self._document, written.start, leaf.language, block, self.formats)
            written.code.add(leaf.text, color=leaf.is_open)
            if not leaf.is_open:
                self._recoloring.append((written, written.code.recolor()))

    def _set_head_room(self, height: float) -> None:
        """Leave room above the first line, for the header of a code block: Qt drops a first block's own margin."""
        frame = self._document.rootFrame()
        room = frame.frameFormat()
        room.setTopMargin(height)
        frame.setFrameFormat(room)

    def _set_runs(self, written: PlacedBlock, leaf: Paragraph | Heading, runs: Sequence[Run]) -> None:
        """Note what stands in the document for `leaf`."""
        written.shape = leaf = replace(leaf, runs=tuple(runs))
        if any(is_tall(run, leaf, self.formats) for run in runs):
            cursor = QTextCursor(self._document.findBlock(written.start))
            cursor.setBlockFormat(self.formats.heightened(cursor.blockFormat()))
        if any(is_waiting(run) for run in runs) and all(each[0] is not written for each in self._untypeset):
            self._untypeset.append((written, typeset_all(leaf.runs)))

    def _rewrite(self, written: PlacedBlock) -> None:
        """Write a paragraph again, wherever it is: its formulas can be drawn now."""
        leaf = written.shape
        if not isinstance(leaf, Paragraph | Heading):
            return
        cursor = QTextCursor(self._document)
        cursor.setPosition(written.start)
        old = sum(run.length for run in leaf.runs)
        cursor.setPosition(written.start + old, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        runs = insert_runs(cursor, leaf, leaf.runs, self.formats)
        self._set_runs(written, leaf, runs)
        self.leaves_written += 1
        moved = sum(run.length for run in runs) - old
        for later in self.written[self.written.index(written) + 1 :]:
            later.start += moved

    def _amend(self, written: PlacedBlock, leaf: Leaf) -> bool:
        """Turn the last leaf into `leaf` if it is the same one with other text; return whether it is."""
        old = written.leaf
        match old, leaf:
            case Paragraph(), Paragraph() if (old.place, old.continues) == (leaf.place, leaf.continues):
                self._amend_runs(written, old, leaf)
            case Heading(), Heading() if (old.place, old.level) == (leaf.place, leaf.level):
                self._amend_runs(written, old, leaf)
            case Table(), Table() if (old.place, old.aligns) == (leaf.place, leaf.aligns) and written.table:
                written.table.amend(leaf)
                written.table.fit(self._document.textWidth())
                written.shape = written.table.leaf
            case Code(), Code() if (old.place, old.language) == (leaf.place, leaf.language):
                if written.code is None or not leaf.text.startswith(old.text):
                    return False
                written.code.add(leaf.text[len(old.text) :], color=True)
                self._close_code(written, leaf)
            case _:
                return False
        self.leaves_written += 1
        return True

    def _amend_runs(self, written: PlacedBlock, old: Paragraph | Heading, leaf: Paragraph | Heading) -> None:
        text = text_of(leaf.runs)
        turned = direction(text) != direction(text_of(old.runs))
        kept, same, rest = difference(() if turned else old.runs, leaf.runs)
        cursor = self._end()
        cursor.setPosition(written.start + kept, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if turned or stands_alone(leaf) != stands_alone(old):
            index = self.written.index(written)
            before = self.written[index - 1].shape if index else None
            cursor.setBlockFormat(self.formats.block(leaf, before, text))
        inserted = insert_runs(cursor, leaf, rest, self.formats)
        pairs = zip(leaf.runs[same:], inserted, strict=True)
        runs = (
            *old.runs[:same],
            *(replace(run, drawn=shown.drawn, isolated=shown.isolated) for run, shown in pairs),
        )
        self._set_runs(written, leaf, runs)

    def _append(self, last: PlacedBlock, text: str) -> None:
        """Add text that was not parsed to the last leaf, if that is something that can grow."""
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

    def _close_code(self, written: PlacedBlock, leaf: Leaf) -> None:
        """Colour a code block once more when it has ended."""
        old = written.shape
        if written.code is not None and isinstance(old, Code) and isinstance(leaf, Code):
            written.shape = replace(old, is_open=leaf.is_open)
            if old.is_open and not leaf.is_open:
                self._recoloring.append((written, written.code.recolor()))


@contextmanager
def _edit(document: QTextDocument) -> Iterator[None]:
    """Make one edit of what happens inside: the document is laid out once, at the end."""
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    try:
        yield
    finally:
        cursor.endEditBlock()


# In characters. Few messages are longer than the first portion.
_FIRST = 60_000
_NEXT = 12_000
_LINE = 30  # a line costs about as much as so many characters


def portions(leaves: Sequence[Leaf]) -> Iterator[Update]:
    """Yield updates that together write `leaves` into an empty document."""
    room = _FIRST
    ready: list[Leaf] = []
    for leaf in leaves:
        size = _size(leaf)
        if size > room and ready:
            yield Update(frozen=tuple(ready), tail=())
            ready, room = [], _NEXT
        if isinstance(leaf, Code) and size > room:
            yield from _code(leaf)
            room = _NEXT
        else:
            ready.append(leaf)
            room -= size
    if ready:
        yield Update(frozen=tuple(ready), tail=())


def _code(leaf: Code) -> Iterator[Update]:
    pieces = text_portions(leaf.text)
    yield Update(tail=(replace(leaf, text=next(pieces), is_open=True),))
    for piece in pieces:
        yield Update(appended=piece)
    yield Update(frozen=(leaf,), tail=())


def text_portions(text: str) -> Iterator[str]:
    """Yield `text` in pieces that cost about the same."""
    start = 0
    while start < len(text):
        end = min(len(text), start + _NEXT)
        lines = text.count("\n", start, end)
        if lines * _LINE > _NEXT:
            end = start + max(1, (end - start) * _NEXT // (lines * _LINE))
        yield text[start:end]
        start = end


def _size(leaf: Leaf) -> int:
    match leaf:
        case Code():
            return len(leaf.text) + _LINE * leaf.text.count("\n")
        case Paragraph() | Heading():
            return len(text_of(leaf.runs)) + _LINE
        case Table():
            return sum(len(text_of(cell)) + _LINE for row in leaf.rows for cell in row)
        case _:
            return _LINE
