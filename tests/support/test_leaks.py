"""The leak check finds each kind of leak, and lets clean work pass."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from PySide6.QtCore import QCoreApplication, QThread

from tests.support import leaks


def test_a_running_qthread_is_named_with_the_place_of_its_start(
    qapp: QCoreApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[QThread, str]] = []
    monkeypatch.setattr(QThread, "start", leaks.recording_start(started))
    thread = QThread(objectName="forgotten")
    with (
        pytest.raises(AssertionError, match=r"(?s)QThread 'forgotten'.*test_leaks\.py"),
        leaks.no_leaks(started, grace_s=0),
    ):
        thread.start()
    thread.quit()
    assert thread.wait(5000)


def test_a_child_process_is_named_and_ended() -> None:
    with pytest.raises(AssertionError, match="child process"), leaks.no_leaks([], grace_s=0):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    child.wait(5)


def test_a_thread_that_would_keep_the_process_alive_is_named() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="stuck")
    with pytest.raises(AssertionError, match="'stuck'"), leaks.no_leaks([], grace_s=0):
        thread.start()
    release.set()
    thread.join()


def test_what_ended_by_itself_is_no_leak() -> None:
    started: list[tuple[QThread, str]] = []
    with leaks.no_leaks(started):
        subprocess.run([sys.executable, "-c", ""], check=True)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()


def test_the_process_table_of_other_systems_gives_the_same_children() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in leaks._children_from_ps()
        assert child.pid in leaks.child_processes()
        child.communicate(b"\n")
