"""Tries the app's twin on Linux as a person would who has just downloaded it and is offline."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_bundle import room
from mtplx_bundle.desktop import Desktop

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_bundle.layout import Layout


QUESTION = "Please write one sentence about the sea."

_DATA, _LOGS = "home/.local/share/MTPLX", "home/.local/state/MTPLX"
# The output of the program is ours; mlx compiles kernels in the folder for temporary files where there is no Metal.
_ALLOWED = (_DATA, _LOGS, "tmp", "output.log")
_PATIENCE_S = 120.0  # for each step, on a busy machine
_TICK_S = 0.2


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of it.

    Attributes:
        answer: What the starter model said.
        picture: The screen with it.
        faults: What went wrong, each in a line.
    """

    answer: str
    picture: Path
    faults: tuple[str, ...]


class StuckError(RuntimeError):
    """Something did not happen; the text says what, and how the program's output ends."""


def visit(layout: Layout, folder: Path) -> Visit:
    """Start the twin, ask it something, wait for the answer, take a picture, quit.

    Args:
        layout: The twin.
        folder: An empty one for home, data and the picture.

    Raises:
        StuckError: The window did not come, the model was not loaded, or no answer came.
        FileNotFoundError: Xvfb or xdotool is not installed.
    """
    place = folder / "room"
    picture = folder / "twin.png"
    with Desktop() as desktop:
        program = room.start([str(layout.executable)], place, desktop.display)
        try:
            logs = place / _LOGS / "log"
            _wait("no window came", place, program, lambda: desktop.has_window("MTPLX"))
            _wait("the model was not loaded", place, program, lambda: _says(logs / "app.log", "engine READY"))
            desktop.write(QUESTION)
            _wait("no answer came", place, program, lambda: _says(logs / "engine.log", "Generate took"))
            time.sleep(1)  # until the last words are painted
            desktop.picture(picture)
        finally:
            program.terminate()
            code = program.wait(_PATIENCE_S)
    return Visit(_answer(place), picture, (*outside(place), *([f"it ended with {code}"] if code else [])))


def _wait(fault: str, place: Path, program: subprocess.Popen[bytes], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not done():
        if program.poll() is not None or time.monotonic() > deadline:
            output = (place / "output.log").read_text(errors="replace")
            raise StuckError(f"{fault}. Its output ends: {output[-2000:]}")
        time.sleep(_TICK_S)


def _says(log: Path, words: str) -> bool:
    return log.is_file() and words in log.read_text(errors="replace")


def _answer(place: Path) -> str:
    """Return the stored answer; the program has ended, so nobody else has the database open."""
    connection = sqlite3.connect(place / _DATA / "chats" / "chats.db")
    try:
        row = connection.execute(
            "SELECT text FROM messages WHERE role = 'assistant' AND status = 'done'"
        ).fetchone()
    finally:
        connection.close()
    return str(row[0]) if row else ""


def outside(place: Path) -> list[str]:
    """Return what was written in the room where it should not be, each in a line."""
    written = (path.relative_to(place) for path in place.rglob("*") if not path.is_dir())
    return [f"{name} was written" for name in written if not any(map(name.is_relative_to, _ALLOWED))]
