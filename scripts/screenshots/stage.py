"""The program on a stage: driven as a user drives it, and photographed."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop
from PySide6.QtWidgets import QApplication

from app.application import Application
from app.palette import DARK, LIGHT
from mtplx_engine.ipc.client import EngineClient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QWidget


_WAIT_S = 180.0


class Stage:
    """One run of the program.

    Args:
        data_dir: Its data folder.
        command: What to start as its engine; None for the real one.
        size: Of its window.
    """

    def __init__(self, data_dir: Path, command: Sequence[str] | None, size: tuple[int, int]) -> None:
        logs = data_dir / "logs"
        make_client = partial(EngineClient, logs, command) if command else partial(EngineClient, logs)
        self.program = Application(QApplication.instance(), data_dir, logs, make_client)
        self.window = self.program.window
        self.menus = self.window.menus
        self.pane = self.window.pane
        self.program.show()
        self.window.resize(*size)

    @property
    def last_row(self) -> QWidget:
        """The row of the last message."""
        return self.pane.transcript.rows[-1]

    @property
    def text(self) -> str:
        """What there is of the last answer."""
        path = self.program.session.shown.path()
        return path[-1].text if path else ""

    def ask(self, question: str) -> None:
        """Send a question."""
        self.pane.composer.set_text(question)
        self.wait(50)
        self.pane.composer.edit.submitted.emit()
        self.wait(50)

    def answer(self, question: str) -> None:
        """Send a question and wait for the end of the answer."""
        self.ask(question)
        self.until(lambda: bool(self.program.session.shown.messages))
        self.until_idle()

    def until_idle(self) -> None:
        """Wait until nothing is being answered in the shown chat."""
        self.until(lambda: not self.program.session.busy)

    def until(self, condition: Callable[[], bool], patience_s: float = _WAIT_S) -> None:
        """Let the program run until something is so, for so many seconds at most.

        Raises:
            TimeoutError: It did not come.
        """
        deadline = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("what was waited for did not come")
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)

    def wait(self, milliseconds: int) -> None:
        """Let the program run for a while."""
        over = time.monotonic() + milliseconds / 1000
        self.until(lambda: time.monotonic() > over)

    def take(self, shown: QWidget | None, out: Path, name: str) -> None:
        """Photograph a window of the program, light and dark."""
        for look, palette in (("light", LIGHT), ("dark", DARK)):
            self.program.theme.use(palette)
            self.wait(150)
            path = out / f"{name}-{look}.png"
            (shown or self.window).grab().save(str(path))
            print(path)
        self.program.theme.use(LIGHT)

    def close(self) -> None:
        """End the program, and forget its window."""
        self.window.close()
        self.program.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(self.window, QEvent.Type.DeferredDelete.value)
