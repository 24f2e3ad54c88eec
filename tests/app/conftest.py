"""The program for tests of the window: real services, and an engine process that follows a script."""

from __future__ import annotations

import gc
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.application import Application
from app.chat_view.answer_row import AnswerRow
from app.program import collect_if_due
from app.theme import Theme
from mtplx_engine.ipc import client
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.models import starter
from tests.support import leaks
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _garbage_on_the_main_thread():
    gc.disable()
    yield
    gc.enable()
    collect_if_due()


_PATIENCE_MS = 60_000


@pytest.fixture
def qtbot(qtbot):
    """What is waited for comes late on a busy machine, which is no fault of a test."""
    for name in ("waitUntil", "waitSignal", "waitSignals"):
        setattr(qtbot, name, _patient(getattr(qtbot, name)))
    return qtbot


def _patient(wait):
    def patient(*args, timeout=0, **options):
        return wait(*args, timeout=max(timeout, _PATIENCE_MS), **options)

    return patient


@pytest.fixture
def theme(qapp):
    made = Theme(qapp)
    yield made
    # It names pictures that go with the theme, and what a test has left on the screen would look for them.
    qapp.setStyleSheet("")
    made.deleteLater()


class Driver:
    """Does to the program what a user does, and looks at what a user sees."""

    def __init__(self, qtbot, program: Application) -> None:
        self.qtbot = qtbot
        self.program = program
        self.window = program.window
        self.pane = program.window.pane
        self.composer = program.window.pane.composer
        self.transcript = program.window.pane.transcript

    def type(self, text: str) -> None:
        QTest.keyClicks(self.composer.edit, text)

    def ask(self, text: str) -> None:
        self.type(text)
        QTest.keyClick(self.composer.edit, Qt.Key.Key_Return)

    @property
    def answer(self) -> AnswerRow:
        row = self.transcript.rows[-1]
        assert isinstance(row, AnswerRow)
        return row

    @property
    def shown_text(self) -> str:
        """The last answer as it stands on the screen."""
        return self.answer.view.toPlainText() if self.answer.view else ""

    def until(self, condition) -> None:
        self.qtbot.waitUntil(condition)

    def activate(self) -> None:
        """Give the window the keyboard, and the message field the focus."""
        self.window.activateWindow()
        self.until(self.window.isActiveWindow)
        self.composer.edit.setFocus()

    def until_idle(self) -> None:
        self.until(lambda: not self.program.session.busy)
        self.until_offered()

    def until_offered(self) -> None:
        """Wait until the commands have looked at what can be done now, which a user cannot outrun."""
        self.until(lambda: not self.program.commands._soon.isActive())

    def kill_engine(self) -> None:
        os.kill(self.program.link._worker._client.pid, signal.SIGKILL)


@pytest.fixture
def drive(qapp, qtbot):
    """Make and show a program, and return its driver; the program before it is ended first."""
    running: list[Application] = []

    def stop() -> None:
        while running:
            program = running.pop()
            program.window.close()
            program.close()
            # The windows before the models that their views look at.
            program.window.deleteLater()
            leaks.delete_pending()
            qapp.setStyleSheet("")
            program.theme.deleteLater()
            program.deleteLater()

    def drive(make: Callable[[], Application]) -> Driver:
        stop()
        program = make()
        running.append(program)
        program.show()
        program.window.resize(1080, 720)
        return Driver(qtbot, program)

    yield drive
    stop()


@pytest.fixture
def start(qapp, tmp_path, monkeypatch, drive):
    """Start the program with an engine that follows a script; a second call is the next day."""
    monkeypatch.setattr(starter, "is_installed", lambda *_: True)
    monkeypatch.setattr(client, "_REAP_S", 20.0)  # a busy machine may be slow to bury a killed process

    def start(script: Script | None = None) -> Driver:
        logs = tmp_path / "logs"
        command = fake_host_command(script or Script())
        make_client = partial(EngineClient, logs, command)
        return drive(lambda: Application(qapp, tmp_path, logs, make_client))

    return start
