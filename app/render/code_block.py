"""A code block in a document: one text block for each line, coloured as it grows, wrapped or scrolled sideways."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QTextCursor, QTextLayout

from app.render.code_colors import CodeColors
from app.render.style import CONTINUES, LONGEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextDocument

    from app.render.code_colors import Span, Spans
    from app.render.style import Formats


class CodeBlock:
    """Writes one code block, which is the last leaf of the document while it grows.

    Args:
        start: Position of the block's first text block, which is empty.
        language: Name of the language for pygments, "" for none.

    Attributes:
        wrapped: Whether long lines are wrapped; if not, they may reach beyond the panel and are scrolled.
    """

    def __init__(
        self, document: QTextDocument, start: int, language: str, first: QTextBlockFormat, formats: Formats
    ) -> None:
        self._document = document
        self._formats = formats
        self._first_line = document.findBlock(start).blockNumber()
        self._first = first
        self._next = formats.next_code_block(first)
        self._continued = formats.continued(self._next)
        self._colors = CodeColors(language)
        self._pieces: list[str] = []
        self._line = ""
        self._line_length = 0
        self._indent: str | None = ""  # of the line that is being written, until more than spaces have come
        self._newline_due = False
        self.wrapped = True
        self._shift = 0
        self._blocks = 1
        self._longest = 0  # columns of the longest line
        self._columns = 0  # of the line that is being written
        self._lines_begun = 0
        self._first_cut: float = math.inf  # the first line that is laid out in pieces

    def block(self, line: int) -> QTextBlock | None:
        """Return the text block of a line, by number; None when earlier lines are laid out in pieces."""
        if self._first_cut <= line:
            return None
        return self._document.findBlockByNumber(self._first_line + line)

    def widest(self) -> float:
        """Return the approximate width of the longest line in pixels."""
        return self._longest * self._formats.code_width

    def set_wrapped(self, *, on: bool) -> None:
        self.wrapped, self._shift = on, 0
        self._format_lines()

    def shift(self, pixels: int) -> None:
        """Scroll lines that are not wrapped sideways by `pixels`."""
        if not self.wrapped and pixels != self._shift:
            self._shift = pixels
            self._format_lines()

    def _format_lines(self) -> None:
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        block = self._document.findBlockByNumber(self._first_line)
        for number in range(self._blocks):
            base = self._next if number else self._first
            if block.blockFormat().hasProperty(CONTINUES):
                base = self._continued
            cursor.setPosition(block.position())
            text = block.text()
            columns = len(text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4))
            cursor.setBlockFormat(self._shaped(base, columns))
            block = block.next()
        cursor.endEditBlock()

    def _shaped(self, base: QTextBlockFormat, columns: int) -> QTextBlockFormat:
        if not self.wrapped:
            return self._formats.unwrapped(base, self._shift)
        return self._formats.hanging(base, columns) if columns else base

    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, text: str, *, color: bool) -> None:
        """Append `text`; with `color`, colour the lines that it completes."""
        if not text:
            return
        self._pieces.append(text)
        self._write(text)
        complete = text.rfind("\n") + 1
        if complete:
            for line, spans in self._colors.add(self._line + text[:complete], color=color):
                self.color_line(line, spans)
            self._line = ""
        self._line += text[complete:]

    def recolor(self) -> Iterator[tuple[int, Spans]]:
        """Highlight the whole block again; yield the lines whose colours change."""
        if self._line:
            for line, spans in self._colors.add(self._line + "\n", color=False):
                self.color_line(line, spans)
            self._line = ""
        return self._colors.finish()

    def color_line(self, line: int, spans: Spans) -> None:
        block = self._document.findBlockByNumber(self._first_line + line)
        ranges = [QTextLayout.FormatRange() for _ in spans]
        for each, span in zip(ranges, spans, strict=True):
            self._set(each, span)
        block.layout().setFormats(ranges)

    def _set(self, found: Any, span: Span) -> None:
        # Untyped: PySide's stubs leave these attributes out.
        found.start, found.length, found.format = span.start, span.length, self._formats.role(span.role)

    def _write(self, text: str) -> None:
        """Write `text`. The newline at its end waits for the next line, or an empty one would show."""
        if self._newline_due:
            text = "\n" + text
        self._newline_due = text.endswith("\n")
        first, *others = text[: len(text) - self._newline_due].split("\n")
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._write_line(cursor, first)
        for line in others:
            cursor.insertBlock(self._shaped(self._next, 0))
            self._blocks += 1
            self._columns = 0
            self._line_length = 0
            self._lines_begun += 1
            self._indent = ""
            self._write_line(cursor, line)

    def _hang(self, cursor: QTextCursor, text: str) -> None:
        """Let the wrapped rest of the line begin below its first word, a little further in."""
        if self._indent is None or not text:
            return
        word = text.lstrip(" \t")
        self._indent += text[: len(text) - len(word)]
        if word:
            columns = len(self._indent.expandtabs(4))
            if columns and self.wrapped:
                cursor.setBlockFormat(self._shaped(cursor.blockFormat(), columns))
            self._indent = None

    def _write_line(self, cursor: QTextCursor, text: str) -> None:
        self._hang(cursor, text)
        self._columns += len(text.expandtabs(4))
        self._longest = max(self._longest, self._columns)
        while self._line_length + len(text) > LONGEST_BLOCK:
            self._first_cut = min(self._first_cut, self._lines_begun)
            room = LONGEST_BLOCK - self._line_length
            cursor.insertText(text[:room], self._formats.code)
            cursor.insertBlock(self._shaped(self._continued, 0))
            self._blocks += 1
            text = text[room:]
            self._line_length = 0
        if text:
            cursor.insertText(text, self._formats.code)
            self._line_length += len(text)
