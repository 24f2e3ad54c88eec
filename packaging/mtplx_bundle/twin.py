"""Tries the app's twin on Linux as a new user would: offline, in a sandbox, on a virtual desktop."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from mtplx_bundle.layout import Layout


QUESTION = "Please write one sentence about the sea."

_DATA, _LOGS = "home/.local/share/MTPLX", "home/.local/state/MTPLX"
# The output of the program is ours; mlx compiles kernels in the folder for temporary files where there is no Metal.
_ALLOWED = (_DATA, _LOGS, "tmp", "output.log")
_PATIENCE_S = 120.0  # for each step, on a busy machine
_TICK_S = 0.2


@dataclass(frozen=True, slots=True)
class TwinResult:
    """How the trial of the twin ended.

    Attributes:
        answer: Of the starter model.
        picture: A screenshot with it.
        faults: What went wrong, each in a line.
    """

    answer: str
    picture: Path
    faults: tuple[str, ...]


class StuckError(RuntimeError):
    """Something did not happen; the text says what, and how the program's output ends."""


def try_twin(layout: Layout, folder: Path) -> TwinResult:
    """Start the twin, ask it something, wait for the answer, take a picture, quit.

    Args:
        layout: The twin.
        folder: An empty one for home, data and the picture.

    Raises:
        StuckError: The window did not come, the model was not loaded, or no answer came.
        FileNotFoundError: Xvfb or xdotool is not installed.
    """
    sandbox = folder / "sandbox"
    picture = folder / "twin.png"
    with Desktop() as desktop:
        program = _start_sandboxed([str(layout.executable)], sandbox, desktop.display)
        try:
            logs = sandbox / _LOGS / "log"
            _wait("no window came", sandbox, program, lambda: desktop.has_window("MTPLX"))
            loaded = partial(_logged, logs / "app.log", "engine READY")
            _wait("the model was not loaded", sandbox, program, loaded)
            desktop.write(QUESTION)
            answered = partial(_logged, logs / "engine.log", "Generate took")
            _wait("no answer came", sandbox, program, answered)
            time.sleep(1)  # until the end of the answer is painted
            desktop.picture(picture)
        finally:
            program.terminate()
            code = program.wait(_PATIENCE_S)
    faults = (*outside(sandbox), *([f"it ended with {code}"] if code else []))
    return TwinResult(_answer(sandbox), picture, faults)


def _wait(fault: str, sandbox: Path, program: subprocess.Popen[bytes], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not done():
        if program.poll() is not None or time.monotonic() > deadline:
            output = (sandbox / "output.log").read_text(errors="replace")
            raise StuckError(f"{fault}. Its output ends: {output[-2000:]}")
        time.sleep(_TICK_S)


def _logged(log: Path, words: str) -> bool:
    return log.is_file() and words in log.read_text(errors="replace")


def _answer(sandbox: Path) -> str:
    """Return the stored answer; the program has ended, so nobody else has the database open."""
    connection = sqlite3.connect(sandbox / _DATA / "chats" / "chats.db")
    try:
        row = connection.execute("SELECT text FROM messages WHERE role = 'assistant' AND status = 'done'").fetchone()
    finally:
        connection.close()
    return str(row[0]) if row else ""


def outside(sandbox: Path) -> list[str]:
    """Return the files that were written elsewhere than into the folders of the app, each in a line."""
    written = (path.relative_to(sandbox) for path in sandbox.rglob("*") if not path.is_dir())
    return [f"{name} was written" for name in written if not any(map(name.is_relative_to, _ALLOWED))]


_SCREEN = "1280x860x24"


class Desktop:
    """A virtual desktop of Xvfb, driven by xdotool; a context manager that ends it.

    Attributes:
        display: Name of the X display, as in ":77".

    Raises:
        FileNotFoundError: Xvfb is not installed.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", _SCREEN, "-nolisten", "tcp"]
        self._server = subprocess.Popen(
            command, pass_fds=(writing,), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(writing)
        with os.fdopen(reading) as answer:
            self.display = f":{answer.readline().strip()}"

    def has_window(self, title: str) -> bool:
        """Whether a window with this title is on the screen."""
        return self._do("search", "--onlyvisible", "--name", title).returncode == 0

    def write(self, text: str) -> None:
        """Type a line into the widget that has the focus."""
        self._do("type", "--delay", "20", text)
        self._do("key", "Return")

    def picture(self, path: Path) -> None:
        """Write a PNG of the screen."""
        from PySide6.QtGui import QGuiApplication

        application = QGuiApplication([sys.argv[0], "-platform", "xcb", "-display", self.display])
        application.primaryScreen().grabWindow(0).save(str(path))

    def _do(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(["xdotool", *arguments], env=environment, capture_output=True, check=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.terminate()
        self._server.wait()


# The folder becomes a mount of its own, which stays writable when its parent no longer is.
_SETUP = 'mount --bind "$0" "$0" && mount -o remount,ro,bind / && cd "$0" && exec "$@"'


def _start_sandboxed(command: list[str], folder: Path, display: str) -> subprocess.Popen[bytes]:
    """Start a program as for a new user: with an empty home, no network, and all files read-only but those of a folder.

    Args:
        command: What to start.
        folder: The only folder that it can write to; `home` and `tmp` in it are created.
        display: Of the X server.
    """
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    # Nothing else of this process's environment: a double-click brings none either.
    environment = {
        "DISPLAY": display,
        "HOME": str(folder / "home"),
        "PATH": os.defpath,
        "TMPDIR": str(folder / "tmp"),
        **{name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")},
    }
    alone = ["unshare", "--net", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    with (folder / "output.log").open("wb") as output:
        return subprocess.Popen(
            [*alone, "sh", "-c", _SETUP, str(folder), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
