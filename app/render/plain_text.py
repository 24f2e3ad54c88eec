"""Documents of plain text: user messages and thoughts, which are shown as they were typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor

from app.render.blocks import Mark, Paragraph, utf16_length, utf16_slice
from app.render.style import CONTINUES, LONGEST_BLOCK, Formats, direction

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

    from app.render.style import RenderStyle


_PLAIN = Paragraph((), ())


def write_plain(document: QTextDocument, text: str, style: RenderStyle) -> None:
    """Make `document` show sanitized `text`, with the line breaks as they were typed."""
    formats = Formats(style)
    formats.prepare(document)
    document.clear()
    append_plain(document, text, formats)


def append_plain(document: QTextDocument, text: str, formats: Formats) -> None:
    """Append sanitized `text` to a document of plain text."""
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
        length = _fitting(text, max(0, LONGEST_BLOCK - cursor.positionInBlock()))
        cursor.insertText(text[:length], form)
        text = text[length:]
        if text:
            cursor.insertBlock(formats.plain(cursor.blockFormat().layoutDirection(), continues=True))


def _fitting(text: str, room: int) -> int:
    if len(text) <= room:
        return len(text)
    return text.rfind(" ", 0, room) + 1 or room


def selection_of(document: QTextDocument, text: str, start: int, end: int) -> QTextCursor:
    """Return a cursor that selects the characters from `start` to `end` of `text`, which the document shows."""
    cursor = QTextCursor(document)
    cursor.setPosition(_position(document, text, start))
    cursor.setPosition(_position(document, text, end), QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _position(document: QTextDocument, text: str, at: int) -> int:
    """Return the document position of a character of `text`; each split of a long line adds one."""
    position = utf16_length(text[:at])
    block = document.begin()
    while block.isValid() and block.position() + block.length() <= position:
        block = block.next()
        if block.blockFormat().hasProperty(CONTINUES):
            position += 1
    return position


def text_between(document: QTextDocument, start: int, end: int) -> str:
    """Return the text between two positions of a document, with its line breaks."""
    block = document.findBlock(start)
    pieces: list[str] = []
    while block.isValid() and block.position() <= end:
        if pieces and not block.blockFormat().hasProperty(CONTINUES):
            pieces.append("\n")
        first = max(0, start - block.position())
        pieces.append(utf16_slice(block.text(), first, end - block.position()))
        block = block.next()
    return "".join(pieces).replace("\u2028", "\n")
