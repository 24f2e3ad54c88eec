"""Plain text into a document, exactly as it was typed, and the text of a selection out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor, QTextOption

from app.render.formats import CONTINUES, Formats, direction
from app.render.units import part

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

    from app.render.style import RenderStyle

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
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for number, line in enumerate(text.split("\n")):
        for start in range(0, max(1, len(line)), _LONGEST_LINE):
            block = formats.plain(direction(line), continues=start > 0)
            if number or start:
                cursor.insertBlock(block)
            else:
                cursor.setBlockFormat(block)
            cursor.insertText(line[start : start + _LONGEST_LINE])
    cursor.endEditBlock()


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
