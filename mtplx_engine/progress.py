"""How far something long is: as one calm line on a terminal, as a few plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from mtplx_engine.harmless import harmless

Report = Callable[[float, str], None]
"""Called with a fraction 0..1 and what is being done; words after a comma are details that change often."""

_CLEAR_LINE = "\r\x1b[K"


class ProgressLine:
    """A `Report` that writes to a stream.

    Args:
        stream: Usually stderr. On a terminal one line is rewritten; elsewhere a line is added for each new
            phase and for each further tenth, so that a log stays short.

    Attributes:
        terminal: Whether the stream is a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self._last = ""

    def __call__(self, fraction: float, phase: str) -> None:
        """Show that `fraction` of the whole is done and `phase` is going on."""
        phase = harmless(phase)
        text = f"{phase} ({fraction:.0%})"
        if self.terminal:
            if text != self._last:
                self._stream.write(_CLEAR_LINE + text)
                self._stream.flush()
            self._last = text
            return
        step = f"{phase.partition(',')[0]} {int(fraction * 10)}"
        if step != self._last:
            self._stream.write(text + "\n")
            self._stream.flush()
        self._last = step

    def close(self) -> None:
        """Take the line away again; does nothing where lines stay."""
        if self.terminal and self._last:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
        self._last = ""
