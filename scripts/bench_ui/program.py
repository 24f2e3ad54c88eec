"""The program with an engine that follows a script, without a screen."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Application
from app.services.engine_worker import EngineState
from app.storage.database import ChatDatabase
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.models import starter
from scripts.bench_ui.loop_watch import LoopWatch
from tests.support.fake_host import fake_host_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from app.chat.conversation import Conversation
    from scripts.bench_ui.own_time import Moment
    from tests.support.fake_script import Script


_SIZE = (1080, 720)
_WAIT_S = 300.0
_LOOK_MS = 20
_CALM_MS, _CALM_S = 700, 0.1  # in so long nothing is left to do when so much CPU time is used


class Program:
    """The real program on a folder of its own, driven as a person drives it.

    Args:
        folder: The data folder.
        script: What the engine does.
        chats: What is in the folder when it starts.

    Attributes:
        app: The program.
        watch: Notes how long its event loop leaves what happens without an answer.
    """

    def __init__(self, folder: Path, script: Script, chats: Sequence[Conversation] = ()) -> None:
        with ChatDatabase(folder / "chats", 0) as database:
            database.import_chats(chats)
        self._qt = cast("QApplication", QApplication.instance() or QApplication([]))
        make_client = partial(EngineClient, folder / "logs", fake_host_command(script))
        starter.is_installed = lambda *_: True
        self.app = Application(self._qt, folder, folder / "logs", make_client)
        self.watch = LoopWatch()

    def __enter__(self) -> Self:
        self.app.show()
        self.app.window.resize(*_SIZE)
        self.until(lambda: self.app.link.state is EngineState.READY)
        self.settle()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.close()
        self.app.window.close()
        self.app.close()
        self.app.window.deleteLater()
        QCoreApplication.sendPostedEvents(self.app.window, QEvent.Type.DeferredDelete.value)

    def ask(self, text: str) -> None:
        """Type something and send it."""
        composer = self.app.window.pane.composer
        composer.set_text(text)
        composer.edit.submitted.emit()

    def open_chat(self, chat_id: str) -> None:
        """Show a chat, and wait until it is there."""
        self.app.session.open_chat(chat_id)
        self.until(lambda: self.app.session.chat_id == chat_id)
        self.settle()

    def longest_block(self, run: Callable[[], object]) -> Moment:
        """Let the event loop do something, and all that follows from it; return the longest time without a turn."""
        self.watch.start()
        QTimer.singleShot(0, self.watch, run)
        self.settle()
        self.watch.stop()
        return self.watch.longest()

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the program run until something is so.

        Raises:
            TimeoutError: It did not come.
        """
        deadline = time.monotonic() + _WAIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {_WAIT_S:.0f} s in vain")
            self._run_for(_LOOK_MS)

    def settle(self) -> None:
        """Let the program run until it has nothing more to do."""
        self.until(lambda: not self.app.session.busy and self._is_calm())

    def _is_calm(self) -> bool:
        used = time.process_time()
        self._run_for(_CALM_MS)
        return time.process_time() - used < _CALM_S and not self.app.session.busy

    def _run_for(self, milliseconds: int) -> None:
        """Run a real event loop: what is deleted later goes only in one."""
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop, loop.quit)
        loop.exec()
