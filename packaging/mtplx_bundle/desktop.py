"""A desktop that nobody sees, with hands: Xvfb and xdotool."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


_SIZE = "1280x860x24"


class Desktop:
    """A screen of its own; a context manager that ends it.

    Attributes:
        display: Its name, as in ":77".

    Raises:
        FileNotFoundError: Xvfb is not installed.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", _SIZE, "-nolisten", "tcp"]
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
        """Type a line into whatever has the keyboard."""
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
