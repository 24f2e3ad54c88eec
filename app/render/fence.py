"""The lines of a code fence that is still open, read one by one without parsing what came before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.render.parser import OpenFence

_TAB = 4


class FenceReader:
    """Reads the text behind the opening line of a fence.

    The fence may sit in list items, not in a quote. When `read` finds its end, or something that only the
    parser can tell, it says so, and the parser takes over.
    """

    def __init__(self, fence: OpenFence) -> None:
        self._indent = fence.indent
        self._strip = fence.strip
        marker = re.escape(fence.marker)
        self._closing = re.compile(rf"[ \t]*{marker}{{{fence.length},}}[ \t]*")
        self._undecided = re.compile(rf"[ \t]*{marker}*[ \t]*")
        self._line = ""
        self._shown = 0

    def read(self, text: str) -> str | None:
        """Return the code that `text` adds, or None when the fence has ended before the end of `text`."""
        *complete, partial = (self._line + text).split("\n")
        added = []
        for line in complete:
            if self._is_end(line):
                return None
            added.append(self._body(line)[self._shown :] + "\n")
            self._shown = 0
        self._line = partial
        if not self._undecided.fullmatch(partial):
            if self._is_end(partial):
                return None
            body = self._body(partial)
            added.append(body[self._shown :])
            self._shown = len(body)
        return "".join(added)

    def _is_end(self, line: str) -> bool:
        columns, first = _indentation(line)
        if first < len(line) and columns < self._indent:
            return True
        return columns - self._indent < 4 and bool(self._closing.fullmatch(line))

    def _body(self, line: str) -> str:
        """Return `line` without the indentation of the list item and of the opening line."""
        if not self._strip:
            return line
        columns = position = 0
        while position < len(line) and columns < self._strip and line[position] in " \t":
            columns += 1 if line[position] == " " else _TAB - columns % _TAB
            position += 1
        return " " * (columns - self._strip) + line[position:]


def _indentation(line: str) -> tuple[int, int]:
    """Return how many columns `line` is indented by, and where its first other character is."""
    columns = 0
    for position, character in enumerate(line):
        if character not in " \t":
            return columns, position
        columns += 1 if character == " " else _TAB - columns % _TAB
    return columns, len(line)
