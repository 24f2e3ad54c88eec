"""What the command writes: text for a terminal is made harmless, colours only where a terminal shows them."""

from __future__ import annotations

import json
import os
from typing import TextIO

from mtplx_engine.harmless import harmless, unbroken


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
        """Write a line of ours; names that others gave and that it quotes make no further ones."""
        self._line(unbroken(text))

    def text(self, text: str) -> None:
        """Write several lines of ours."""
        self._line(harmless(text))

    def json(self, value: object) -> None:
        """Write a value for a program to read."""
        self._line(_as_json(value, indent=1))

    def event(self, **fields: object) -> None:
        """Write what happened, for a program to read while more is to come: a JSON object on a line of its own."""
        self._line(_as_json(fields))

    def dim(self, text: str) -> None:
        """Write a line of ours that should not draw the eye."""
        text = unbroken(text)
        self._line(f"\x1b[2m{text}\x1b[0m" if self._colours else text)

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


def _as_json(value: object, indent: int | None = None) -> str:
    # The one control character that JSON leaves as it is.
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")
