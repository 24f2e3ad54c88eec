"""Where markdown's code begins and ends in a text that comes character by character."""

from __future__ import annotations

import re
from enum import Enum

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class CodeEnd(Enum):
    """How a piece of code ended."""

    CLOSED = "closed"
    NEVER_CLOSED = "never closed"


class Code:
    """Follows markdown's code through a text, character by character."""

    def __init__(self) -> None:
        self._line = ""
        self._run = 0  # backticks just read
        self._inline = 0  # backticks that opened the code on this line
        self._fence = ""

    @property
    def is_open(self) -> bool:
        """Whether the text is inside code, if that is closed later."""
        return bool(self._inline or self._fence)

    @property
    def line(self) -> str:
        """The text of the line so far."""
        return self._line

    def step(self, character: str) -> CodeEnd | None:
        """Read a character; returns how code ended here, if it did."""
        if character == "`" and not self._fence:
            self._run += 1
            self._line += character
            return None
        ended = self._end_run()
        if character != "\n":
            self._line += character
            return ended
        if self._inline:
            ended, self._inline = CodeEnd.NEVER_CLOSED, 0
        line, self._line = self._line, ""
        return self._end_line(line) or ended

    def _end_run(self) -> CodeEnd | None:
        run, self._run = self._run, 0
        if run and run == self._inline:
            self._inline = 0
            return CodeEnd.CLOSED
        self._inline = self._inline or run
        return None

    def _end_line(self, line: str) -> CodeEnd | None:
        found = _FENCE.fullmatch(line)
        if found is None:
            return None
        marks, info = found.groups()
        if self._fence.startswith(marks[0]) and len(marks) >= len(self._fence) and not info.strip():
            self._fence = ""
            return CodeEnd.CLOSED
        if marks[0] == "`" and "`" in info:
            return None
        was_open, self._fence = bool(self._fence), self._fence or marks
        # A block that begins where another one seems to be open: nobody closed that one.
        return CodeEnd.NEVER_CLOSED if was_open and info.strip() and marks[0] == self._fence[0] else None
