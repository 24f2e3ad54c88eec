"""Output to the terminal, tables, statistics of an answer, and Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from typing import TYPE_CHECKING, TextIO

from mtplx_engine.stats import FinishReason
from mtplx_engine.util.formatting import harmless, unbroken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from mtplx_engine.stats import DecodeStats

    _T = TypeVar("_T")


class Console:
    """One output stream; `terminal` when a user sees it directly."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self._colours = self.terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def write(self, text: str) -> None:
        """Write text of a model, unbuffered."""
        self._stream.write(harmless(text) if self.terminal else text)
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Write one line; line breaks in names that it quotes are removed. Use `text` for several lines."""
        self._line(unbroken(text))

    def text(self, text: str) -> None:
        self._line(harmless(text))

    def json(self, value: object) -> None:
        self._line(_as_json(value, indent=1))

    def event(self, **fields: object) -> None:
        """Write a JSON object on a line of its own, for programs that read while more is to come."""
        self._line(_as_json(fields))

    def dim(self, text: str) -> None:
        """Write one line in grey where the terminal has colours."""
        text = unbroken(text)
        self._line(f"\x1b[2m{text}\x1b[0m" if self._colours else text)

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


def _as_json(value: object, indent: int | None = None) -> str:
    # The one control character that JSON leaves as it is.
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def table_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a line for each row, the first one usually with headings; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


_ENDINGS = {
    FinishReason.LENGTH: "cut off at the limit",
    FinishReason.CANCELLED: "stopped",
}


def stats_text(stats: DecodeStats, reason: FinishReason) -> str:
    """Return statistics of an answer, as in "42 tok/s · 2.6 per step · 71 % of drafts kept · 128 tokens".

    Plain decoding has no steps and drafts to speak of; an answer of one token has no speed.
    """
    parts = []
    if stats.decode_tps is not None:
        parts.append(f"{stats.decode_tps:.0f} tok/s" if stats.decode_tps >= 10 else f"{stats.decode_tps:.2g} tok/s")
    if stats.mean_acceptance_length is not None and stats.acceptance_rate is not None:
        parts.append(f"{stats.mean_acceptance_length:.1f} per step")
        parts.append(f"{100 * stats.acceptance_rate:.0f} % of drafts kept")
    parts.append("1 token" if stats.emitted == 1 else f"{stats.emitted} tokens")
    if reason in _ENDINGS:
        parts.append(_ENDINGS[reason])
    return " · ".join(parts)


@contextlib.contextmanager
def ctrl_c_calls(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C in the block; a second one raises KeyboardInterrupt."""
    pressed = False

    def press(_signal: int, _frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        stop()

    former = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def on_thread(
    work: Callable[[], _T],
    stop: Callable[[], None],
    tick: Callable[[], None] = lambda: None,
    every_s: float = 0.2,
) -> _T | BaseException:
    """Run `work` on a thread, so that Ctrl-C is heard at once whatever it waits for; return its result or exception.

    `stop` is called at the first Ctrl-C, `tick` every `every_s` seconds meanwhile on the caller's thread.
    """
    outcome: list[_T | BaseException] = []

    def run_it() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - returned to the caller
            outcome.append(error)

    thread = threading.Thread(target=run_it, name="command")
    with ctrl_c_calls(stop):
        thread.start()
        while thread.is_alive():
            tick()
            thread.join(every_s)
    return outcome[0]
