"""What the command writes: text for a terminal is made harmless, colours only where a terminal shows them."""

from __future__ import annotations

import os
from typing import TextIO

from mtplx_engine.harmless import harmless


class Console:
    """One output stream, a terminal or not.

    Attributes:
        terminal: Whether a person sees it directly.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self._colours = self.terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def write(self, text: str) -> None:
        """Write text of a model at once."""
        self._stream.write(harmless(text) if self.terminal else text)
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Write a line of ours, which may quote names that others gave."""
        self._line(harmless(text))

    def dim(self, text: str) -> None:
        """Write a line of ours that should not draw the eye."""
        self._line(f"\x1b[2m{harmless(text)}\x1b[0m" if self._colours else harmless(text))

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()
