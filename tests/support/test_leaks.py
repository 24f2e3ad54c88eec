"""The leak check finds each kind of leak, and lets clean work pass."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QProcess, QThread, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from tests.support import leaks
from tests.support.leaks import Started


def test_a_window_is_named_and_deleted(qapp: QApplication) -> None:
    with (
        pytest.raises(AssertionError, match="widget QWidget 'forgotten'"),
        leaks.no_leaks(Started(), grace_s=0),
    ):
        window = QWidget(objectName="forgotten")
    assert not shiboken6.isValid(window)


def test_a_menu_of_a_lasting_button_is_named_with_its_owner(qapp: QApplication) -> None:
    button = QLabel()
    with (
        pytest.raises(AssertionError, match="widget QMenu '', of QLabel"),
        leaks.no_leaks(Started(), grace_s=0),
    ):
        menu = QMenu(button)
    assert not shiboken6.isValid(menu)
    shiboken6.delete(button)


def test_what_waits_to_be_deleted_and_what_was_there_before_is_no_leak(qapp: QApplication) -> None:
    before = QWidget()
    with leaks.no_leaks(Started(), grace_s=0):
        gone = QWidget()
        gone.deleteLater()
    assert not shiboken6.isValid(gone)
    assert shiboken6.isValid(before)
    shiboken6.delete(before)


def test_a_timer_that_would_go_off_is_named_with_the_place_where_it_was_made_and_stopped(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(AssertionError, match=r"active QTimer, made at .*test_leaks\.py:\d+"),
        leaks.no_leaks(leaks.recording(monkeypatch), grace_s=0),
    ):
        (timer := QTimer(qapp, interval=60_000)).start()
    assert not timer.isActive()


def test_a_call_that_is_put_off_is_a_timer(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(AssertionError, match="active QTimer"),
        leaks.no_leaks(leaks.recording(monkeypatch), grace_s=0),
    ):
        QTimer.singleShot(60_000, qapp, lambda: None)


def test_a_timer_that_stands_or_goes_with_its_owner_is_no_leak(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaks.no_leaks(leaks.recording(monkeypatch), grace_s=0):
        QTimer(qapp).stop()
        owner = QWidget()
        QTimer(owner).start(60_000)
        QTimer().start(60_000)
        owner.deleteLater()


def test_a_process_of_qt_is_a_child_process(qapp: QApplication) -> None:
    process = QProcess()
    with pytest.raises(AssertionError, match="child process"), leaks.no_leaks(Started(), grace_s=0):
        process.start(sys.executable, ["-c", "import time; time.sleep(60)"])
    process.waitForFinished(5000)


def test_a_running_qthread_is_named_with_the_place_of_its_start(
    qapp: QCoreApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = leaks.recording(monkeypatch)
    thread = QThread(objectName="forgotten")
    with (
        pytest.raises(AssertionError, match=r"(?s)QThread 'forgotten'.*test_leaks\.py"),
        leaks.no_leaks(started, grace_s=0),
    ):
        thread.start()
    thread.quit()
    assert thread.wait(5000)


def test_a_child_process_is_named_and_ended() -> None:
    with pytest.raises(AssertionError, match="child process"), leaks.no_leaks(Started(), grace_s=0):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    child.wait(5)


def test_a_child_process_that_ended_and_was_not_waited_for_is_named() -> None:
    with pytest.raises(AssertionError, match="child process"), leaks.no_leaks(Started(), grace_s=0):
        child = _ended()
    child.wait(5)


def test_a_child_process_of_a_thread_that_ended_is_named() -> None:
    def start() -> None:
        children.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))

    children: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(target=start)
    with pytest.raises(AssertionError, match="child process"), leaks.no_leaks(Started(), grace_s=0):
        _run(thread)
    children[0].wait(5)


def test_a_thread_that_would_keep_the_process_alive_is_named() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="stuck")
    with pytest.raises(AssertionError, match="'stuck'"), leaks.no_leaks(Started(), grace_s=0):
        thread.start()
    release.set()
    thread.join()


def test_what_ended_by_itself_is_no_leak() -> None:
    with leaks.no_leaks(Started()):
        subprocess.run([sys.executable, "-c", ""], check=True)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()


def test_the_process_table_of_other_systems_gives_the_same_children() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in leaks._children_from_ps()
        assert child.pid in leaks.child_processes()
        child.communicate(b"\n")


def _ended() -> subprocess.Popen[bytes]:
    """Return a process that is over, and that nobody has waited for."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


def _run(thread: threading.Thread) -> None:
    thread.start()
    thread.join()
