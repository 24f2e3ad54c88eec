"""What the command writes: text for a terminal is made harmless, colours only where a terminal shows them."""

from __future__ import annotations

import os
import re
from typing import TextIO

# A model may write anything: escape sequences could rename the window, move the cursor or fake a prompt.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
        self._stream.write(_CONTROLS.sub("", text) if self.terminal else text)
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Write a line of ours."""
        self._stream.write(text + "\n")
        self._stream.flush()

    def dim(self, text: str) -> None:
        """Write a line of ours that should not draw the eye."""
        self.line(f"\x1b[2m{text}\x1b[0m" if self._colours else text)
