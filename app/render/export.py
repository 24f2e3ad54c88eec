"""Copy a selection as plain text and HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor, QTextOption

from app.render.blocks import Code, Heading, Kind, Mark, Paragraph, Rule, Table, part, text_of, units
from app.render.style import CONTINUES, Formats, direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QTextDocument

    from app.render.blocks import Cell, Container, Leaf, Place, Run
    from app.render.style import RenderStyle


_TAGS = {Mark.CODE: "code", Mark.EMPHASIS: "em", Mark.STRONG: "strong", Mark.STRIKE: "s"}


def to_text(leaves: Sequence[Leaf]) -> str:
    """Return what the leaves say, line by line; the cells of a table are separated by tabs."""
    if len(leaves) == 1:
        return _text(leaves[0])
    pieces: list[str] = []
    before: Leaf | None = None
    for leaf in leaves:
        if before is not None:
            pieces.append(_break(before, leaf))
        is_rest_of_line = before is None and not _starts_item(leaf)
        bare = is_rest_of_line or _is_bare(leaf)
        pieces.append(_text(leaf) if bare else _placed(_text(leaf), leaf.place))
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
    """Return whether list signs stay away: from the middle of a line, and from what is pasted as it is."""
    return isinstance(leaf, Code | Table) or _continues(leaf)


def _continues(leaf: Leaf) -> bool:
    return isinstance(leaf, Paragraph) and leaf.continues


def _starts_item(leaf: Leaf) -> bool:
    return any(each.marker for each in leaf.place)


def _break(before: Leaf, leaf: Leaf) -> str:
    if _continues(leaf):
        return ""
    follows_text = isinstance(before, Paragraph) and any(each.kind is Kind.LIST for each in before.place)
    return "\n" if _starts_item(leaf) and follows_text else "\n\n"


def _placed(text: str, place: Place) -> str:
    """Return `text` behind its markers, later lines indented as far."""
    first = rest = ""
    for each in place:
        sign = "> " if each.kind is Kind.QUOTE else f"{each.marker} " if each.marker else "  "
        first += sign
        rest += sign if each.kind is Kind.QUOTE else " " * len(sign)
    return first + text.replace("\n", "\n" + rest)


def to_html(leaves: Iterable[Leaf]) -> str:
    """Return the leaves as HTML that says what they are, and leaves the look to where it is pasted."""
    writer = _HtmlWriter()
    for leaf in leaves:
        writer.add(leaf)
    return writer.close()


class _HtmlWriter:
    def __init__(self) -> None:
        self._out: list[str] = []
        self._open: list[str] = []  # "blockquote", or "ul" and "ol" with an open item

    def add(self, leaf: Leaf) -> None:
        shared = self._shared(leaf.place)
        self._close_to(shared)
        if shared and leaf.place[shared - 1].marker:
            self._out.append("</li><li>")
        for container in leaf.place[shared:]:
            self._push(container)
        self._out.append(_html(leaf))

    def close(self) -> str:
        self._close_to(0)
        return "".join(self._out)

    def _shared(self, place: Place) -> int:
        """Return how many of the open lists and quotes go on around a leaf in `place`."""
        for level, (container, tag) in enumerate(zip(place, self._open, strict=False)):
            if (container.kind is Kind.QUOTE) != (tag == "blockquote"):
                return level
            if container.marker:
                return level + 1 if _list_tag(container) == tag else level
        return min(len(place), len(self._open))

    def _push(self, container: Container) -> None:
        if container.kind is Kind.QUOTE:
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
                _inline(leaf.runs) if leaf.place and leaf.place[-1].marker else f"<p>{_inline(leaf.runs)}</p>"
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


_PLAIN = Paragraph((), ())
# Qt's time for one text block grows with its length, so a longer line is laid out in pieces.
_LONGEST_LINE = 4096


def write_plain(document: QTextDocument, text: str, style: RenderStyle) -> None:
    """Make `document` show clean `text`, every line break where it was typed."""
    formats = Formats(style)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultTextOption(option)
    document.setDefaultFont(formats.text_font())
    document.clear()
    append_plain(document, text, formats)


def append_plain(document: QTextDocument, text: str, formats: Formats) -> None:
    """Add clean `text` at the end of a document of plain text."""
    cursor = QTextCursor(document)
    cursor.movePosition(QTextCursor.MoveOperation.End)
    cursor.beginEditBlock()
    for number, line in enumerate(text.split("\n")):
        if number:
            cursor.insertBlock(formats.plain(direction(line), continues=False))
        elif line and cursor.block().length() == 1:
            cursor.setBlockFormat(formats.plain(direction(line), continues=False))
        _add_to_line(cursor, line, formats)
    cursor.endEditBlock()


def _add_to_line(cursor: QTextCursor, text: str, formats: Formats) -> None:
    form = formats.chars(_PLAIN, Mark.NONE, "")
    while text:
        length = _fitting(text, max(0, _LONGEST_LINE - cursor.positionInBlock()))
        cursor.insertText(text[:length], form)
        text = text[length:]
        if text:
            cursor.insertBlock(formats.plain(cursor.blockFormat().layoutDirection(), continues=True))


def _fitting(text: str, room: int) -> int:
    """Return how many characters of `text` go into a piece with that much room: whole words where there are any."""
    if len(text) <= room:
        return len(text)
    return text.rfind(" ", 0, room) + 1 or room


def place_of(document: QTextDocument, text: str, start: int, end: int) -> QTextCursor:
    """Return a cursor that has selected the characters of `text`, which the document shows, from `start` to `end`."""
    cursor = QTextCursor(document)
    cursor.setPosition(_position(document, text, start))
    cursor.setPosition(_position(document, text, end), QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _position(document: QTextDocument, text: str, at: int) -> int:
    """Return the position of the character of `text` at `at`: pieces of long lines are one further each."""
    position = units(text[:at])
    block = document.begin()
    while block.isValid() and block.position() + block.length() <= position:
        block = block.next()
        if block.blockFormat().hasProperty(CONTINUES):
            position += 1
    return position


def text_between(document: QTextDocument, start: int, end: int) -> str:
    """Return the text between two positions, with its line breaks."""
    block = document.findBlock(start)
    pieces: list[str] = []
    while block.isValid() and block.position() <= end:
        if pieces and not block.blockFormat().hasProperty(CONTINUES):
            pieces.append("\n")
        first = max(0, start - block.position())
        pieces.append(part(block.text(), first, end - block.position()))
        block = block.next()
    return "".join(pieces).replace("\u2028", "\n")
