"""Plain text into a document, exactly as it was typed, and the text of a selection out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor, QTextOption

from app.render.blocks import Mark, Paragraph
from app.render.formats import CONTINUES, Formats, direction
from app.render.units import part, units

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

    from app.render.style import RenderStyle

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
