"""Copies a selection: the selected leaves, as plain text and as HTML."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from app.render.blocks import (
    Code,
    ContainerKind,
    Heading,
    Mark,
    Paragraph,
    Rule,
    Table,
    starts_item,
    text_of,
    utf16_slice,
    without_markers,
)
from app.render.plain_text import text_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QTextCursor, QTextTable

    from app.render.blocks import Cell, Container, Containers, Leaf, Run
    from app.render.document import PlacedBlock


def selected_leaves(placed: Sequence[PlacedBlock], cursor: QTextCursor) -> list[Leaf]:
    """Return the leaves that `cursor` selects; the first and last one may be parts."""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    found: list[Leaf] = []
    for index, each in enumerate(placed):
        last = placed[index + 1].start - 1 if index + 1 < len(placed) else cursor.document().characterCount() - 1
        if last < start:
            continue
        if each.start >= end:
            break
        found += _part(each, max(start, each.start), min(end, last), cursor)
    return found


def _part(placed: PlacedBlock, start: int, end: int, cursor: QTextCursor) -> list[Leaf]:
    leaf = placed.shape
    containers = leaf.containers if start == placed.start else without_markers(leaf.containers)
    match leaf:
        case Code():
            return [replace(leaf, containers=containers, text=text_between(cursor.document(), start, end))]
        case Paragraph() | Heading():
            runs = slice_runs(leaf.runs, start - placed.start, end - placed.start)
            return [replace(leaf, containers=containers, runs=runs)]
        case Table():
            return _table_part(placed.table.qt, leaf, start, end) if placed.table else []
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
        return [Paragraph(leaf.containers, runs)]
    columns = slice(None)
    if start >= table.firstPosition() and end <= table.lastPosition():
        left, right = sorted((first.column(), last.column()))
        columns = slice(left, right + 1)
    rows = leaf.rows[first.row() : last.row() + 1]
    return [Table(leaf.containers, leaf.aligns[columns], tuple(row[columns] for row in rows))]


def slice_runs(runs: Cell, start: int, end: int) -> Cell:
    """Return `runs` from `start` to `end`, in UTF-16 units of the document."""
    found: list[Run] = []
    position = 0
    for run in runs:
        first, last = max(0, start - position), end - position
        if first < run.length and last > 0:
            text = utf16_slice(run.text, max(0, first - run.lead), max(0, last - run.lead))
            found.append(run if run.drawn else replace(run, text=text))
        position += run.length
    return tuple(found)


def to_text(leaves: Sequence[Leaf]) -> str:
    """Return the leaves as plain text with list markers; the cells of a table are separated by tabs."""
    if len(leaves) == 1:
        return _text(leaves[0])
    pieces: list[str] = []
    before: Leaf | None = None
    for leaf in leaves:
        if before is not None:
            pieces.append(_break(before, leaf))
        is_rest_of_line = before is None and not starts_item(leaf)
        bare = is_rest_of_line or _is_bare(leaf)
        pieces.append(_text(leaf) if bare else _placed(_text(leaf), leaf.containers))
        before = leaf
    return "".join(pieces)


def _text(leaf: Leaf) -> str:
    match leaf:
        case Code():
            return leaf.text.removesuffix("\n")
        case Table():
            return "\n".join("\t".join(text_of(cell) for cell in row) for row in leaf.rows)
        case Rule():
            return "---"
        case Paragraph() | Heading():
            return text_of(leaf.runs)


def _is_bare(leaf: Leaf) -> bool:
    return isinstance(leaf, Code | Table) or _continues(leaf)


def _continues(leaf: Leaf) -> bool:
    return isinstance(leaf, Paragraph) and leaf.continues


def _break(before: Leaf, leaf: Leaf) -> str:
    if _continues(leaf):
        return ""
    follows_text = isinstance(before, Paragraph) and any(each.kind is ContainerKind.LIST for each in before.containers)
    return "\n" if starts_item(leaf) and follows_text else "\n\n"


def _placed(text: str, containers: Containers) -> str:
    """Return `text` behind its markers, its other lines indented as far."""
    first = rest = ""
    for each in containers:
        sign = "> " if each.kind is ContainerKind.QUOTE else f"{each.marker} " if each.marker else "  "
        first += sign
        rest += sign if each.kind is ContainerKind.QUOTE else " " * len(sign)
    return first + text.replace("\n", "\n" + rest)


def to_html(leaves: Iterable[Leaf]) -> str:
    """Return the leaves as HTML without styles, so that it takes the style of where it is pasted."""
    writer = _HtmlWriter()
    for leaf in leaves:
        writer.add(leaf)
    return writer.close()


_TAGS = {Mark.CODE: "code", Mark.EMPHASIS: "em", Mark.STRONG: "strong", Mark.STRIKE: "s"}


class _HtmlWriter:
    def __init__(self) -> None:
        self._out: list[str] = []
        self._open: list[str] = []  # "blockquote", or "ul" and "ol" with an open item

    def add(self, leaf: Leaf) -> None:
        shared = self._shared(leaf.containers)
        self._close_to(shared)
        if shared and leaf.containers[shared - 1].marker:
            self._out.append("</li><li>")
        for container in leaf.containers[shared:]:
            self._push(container)
        self._out.append(_html(leaf))

    def close(self) -> str:
        self._close_to(0)
        return "".join(self._out)

    def _shared(self, containers: Containers) -> int:
        """Return how many of the open lists and quotes continue around a leaf in `containers`."""
        for level, (container, tag) in enumerate(zip(containers, self._open, strict=False)):
            if (container.kind is ContainerKind.QUOTE) != (tag == "blockquote"):
                return level
            if container.marker:
                return level + 1 if _list_tag(container) == tag else level
        return min(len(containers), len(self._open))

    def _push(self, container: Container) -> None:
        if container.kind is ContainerKind.QUOTE:
            self._open.append("blockquote")
            self._out.append("<blockquote>")
            return
        tag = _list_tag(container)
        number = container.marker[:-1]
        self._open.append(tag)
        self._out.append(f'<ol start="{number}"><li>' if tag == "ol" else "<ul><li>")

    def _close_to(self, level: int) -> None:
        while len(self._open) > level:
            tag = self._open.pop()
            self._out.append("</blockquote>" if tag == "blockquote" else f"</li></{tag}>")


def _list_tag(container: Container) -> str:
    return "ol" if container.marker[:1].isdigit() else "ul"


def _html(leaf: Leaf) -> str:
    match leaf:
        case Code():
            return f"<pre><code>{escape(leaf.text)}</code></pre>"
        case Heading():
            return f"<h{leaf.level}>{_inline(leaf.runs)}</h{leaf.level}>"
        case Rule():
            return "<hr>"
        case Table():
            rows = (_row(row, "td" if number else "th") for number, row in enumerate(leaf.rows))
            return f"<table>{''.join(rows)}</table>"
        case Paragraph():
            return (
                _inline(leaf.runs) if leaf.containers and leaf.containers[-1].marker else f"<p>{_inline(leaf.runs)}</p>"
            )


def _row(cells: Iterable[Cell], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in cells)}</tr>"


def _inline(runs: Cell) -> str:
    return "".join(_run(run) for run in runs)


def _run(run: Run) -> str:
    text = escape(run.text).replace("\n", "<br>")
    for mark, tag in _TAGS.items():
        if mark in run.marks:
            text = f"<{tag}>{text}</{tag}>"
    return f'<a href="{escape(run.href)}">{text}</a>' if run.href else text
