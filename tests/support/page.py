"""A document with its writer, and everything that can be seen of it."""

from __future__ import annotations

from PySide6.QtGui import QTextDocument

from app.palette import LIGHT
from app.render.document import DocumentWriter
from app.render.layout import Geometry
from app.render.markdown import parse_markdown, sanitize
from app.render.markdown_stream import StreamingMarkdown
from tests.support.looks import style
from tests.support.markdown import pieces

WIDTH = 500


class Page:
    """A document with its writer."""

    def __init__(self, palette=LIGHT, look=None):
        self.document = QTextDocument()
        self.document.setTextWidth(WIDTH)
        self.writer = DocumentWriter(self.document, look or style(palette))
        self.geometry = Geometry(self.document, self.writer)

    def stream(self, text, sizes, *, finish=True):
        reader = StreamingMarkdown()
        for piece in pieces(text, sizes):
            self.writer.apply(reader.feed(piece))
        if finish:
            self.writer.show(reader.finish())
        self.color()
        return self

    def show(self, text):
        self.writer.show(parse_markdown(sanitize(text)))
        self.color()
        return self

    def color(self):
        assert not self.writer.refine(lambda: True)

    def final(self):
        """What was written, and the room that it takes."""
        leaves = [each.leaf for each in self.writer.placed]
        return leaves, self.document.toPlainText(), self.document.size()

    def blocks(self):
        block = self.document.begin()
        while block.isValid():
            yield block
            block = block.next()

    def look(self):
        """Everything that can be seen."""
        return [
            (
                block.text(),
                self.document.documentLayout().blockBoundingRect(block).getRect(),
                block.blockFormat().layoutDirection(),
                [(each.start, each.length, color_of(each)) for each in block.layout().formats()],
                fragments(block),
            )
            for block in self.blocks()
        ]


def color_of(span):
    return span.format.foreground().color().name()


def fragments(block):
    found = []
    position = block.begin()
    while not position.atEnd():
        fragment = position.fragment()
        form = fragment.charFormat()
        font = form.font()
        look = (
            form.foreground().color().name(),
            font.family(),
            font.pixelSize(),
            font.weight(),
            font.italic(),
            font.strikeOut(),
            form.anchorHref(),
        )
        if found and found[-1][1] == look:
            found[-1] = (found[-1][0] + fragment.text(), look)
        else:
            found.append((fragment.text(), look))
        position += 1
    return found
