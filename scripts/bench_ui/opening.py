"""A chat of thousands of messages: opened, scrolled up in, and written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from scripts.bench_ui.figure import LONGEST_BLOCK_MS, Figure, timed
from scripts.bench_ui.own_time import OwnTime
from scripts.bench_ui.program import Program
from scripts.bench_ui.texts import chat
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pathlib import Path


_SCREENS = 20
_SCREEN_MS = 100


def measure(folder: Path, messages: int) -> list[Figure]:
    """Open a chat of so many messages."""
    name = f"chat of {messages:,} messages"
    with Program(folder, Script(window=10**7), [chat("short", 2), chat("long", messages)]) as program:
        program.open_chat("short")
        found = [_until_shown(program, f"{name}: until it is shown")]
        program.open_chat("short")
        acts = (
            ("opening it", lambda: program.app.session.open_chat("long")),
            (f"scrolling {_SCREENS} screens up", lambda: _scroll_up(program)),
            ("asking in it", lambda: program.ask("And now?")),
        )
        blocks = ((f"{name}, {act}: longest block", program.longest_block(run)) for act, run in acts)
        return [*found, *(timed(what, block, LONGEST_BLOCK_MS) for what, block in blocks)]


def _until_shown(program: Program, what: str) -> Figure:
    """Measure the time from the click until the last message stands in the window."""
    session, transcript = program.app.session, program.app.window.pane.transcript
    with OwnTime() as clock:
        started = clock.now()
        session.open_chat("long")
        program.until(lambda: session.chat_id == "long" and bool(transcript.rows))
        took = clock.now().since(started)
    program.settle()
    return timed(what, took)


def _scroll_up(program: Program) -> None:
    bar = program.app.window.pane.transcript.verticalScrollBar()
    for screen in range(_SCREENS):
        QTimer.singleShot(screen * _SCREEN_MS, bar, lambda: bar.setValue(bar.value() - bar.pageStep()))
