"""Finds what a test left behind: widgets, timers, QThreads, Python threads, child processes.

Each window that outlives its test is styled again by the tests after it, and each timer goes off in one of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QThread, QTimer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from PySide6.QtWidgets import QWidget


_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")
# A QThread that is collected while it runs aborts the process, which would hide the report.
_leaked: list[QThread] = []


@dataclass(frozen=True, slots=True)
class Started:
    """What was started under the eyes of the check, each with the place of its start.

    Attributes:
        qthreads: Each QThread.
        timers: Each QTimer that Python made. One that was collected is no leak.
    """

    qthreads: list[tuple[QThread, str]] = field(default_factory=list)
    timers: list[tuple[weakref.ref[QTimer], str]] = field(default_factory=list)


def recording(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Note from now on each QThread that is started and each QTimer that is made."""
    started = Started()
    start_thread, make_timer = QThread.start, QTimer.__init__

    def start(thread: QThread, *args: QThread.Priority) -> None:
        started.qthreads.append((thread, "".join(traceback.format_stack(limit=6)[:-1])))
        start_thread(thread, *args)

    def make(timer: QTimer, *args: object, **kwargs: object) -> None:
        make_timer(timer, *args, **kwargs)  # type: ignore[call-overload]
        caller = sys._getframe(1)
        started.timers.append((weakref.ref(timer), f"{caller.f_code.co_filename}:{caller.f_lineno}"))

    monkeypatch.setattr(QThread, "start", start)
    monkeypatch.setattr(QTimer, "__init__", make)
    return started


@contextlib.contextmanager
def no_leaks(started: Started, grace_s: float = 1.0) -> Iterator[None]:
    """Raise AssertionError when the block leaves a widget, a running timer, a thread or a child process behind.

    What it leaves is ended, so that the tests after it do not suffer from it.

    Args:
        started: What the block starts (see `recording`).
        grace_s: What was told to end may still be on its way out for this long.
    """
    threads, children, widgets = set(threading.enumerate()), child_processes(), _top_level_widgets()
    yield
    deadline = time.monotonic() + grace_s
    while running := _running_qthreads(started) + _new_threads(threads) + _new_children(children):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    _leaked.extend(thread for thread, _ in started.qthreads if shiboken6.isValid(thread) and thread.isRunning())
    for pid in child_processes().keys() - children.keys():
        _end(pid)
    delete_pending()
    left = [widget for widget in _top_level_widgets() if widget not in widgets]
    found = running + [_describe(widget) for widget in left] + _stop_active(started)
    for widget in left:
        if shiboken6.isValid(widget):
            shiboken6.delete(widget)
    assert not found, "left after the test:\n" + "\n".join(found)


def delete_pending() -> None:
    """Delete what waits for an event loop that deletes it."""
    if QCoreApplication.instance() is not None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _top_level_widgets() -> list[QWidget]:
    if "PySide6.QtWidgets" not in sys.modules:  # the tests of the engine never import it
        return []
    from PySide6.QtWidgets import QApplication

    return QApplication.topLevelWidgets()


def _describe(widget: QWidget) -> str:
    parent = widget.parent()
    owner = f", of {type(parent).__name__}" if parent is not None else ""
    return f"widget {type(widget).__name__} {widget.objectName()!r}{owner}"


def _stop_active(started: Started) -> list[str]:
    found = []
    for reference, place in started.timers:
        timer = reference()
        if timer is not None and shiboken6.isValid(timer) and timer.isActive():
            timer.stop()
            found.append(f"active QTimer, made at {place}")
    return found


def child_processes() -> dict[int, str]:
    """Return the children of this process, zombies included: process id -> command line."""
    tracker = resource_tracker._resource_tracker._pid  # belongs to the interpreter, lives as long as it does
    found = _children_from_proc() if _CHILDREN.exists() else _children_from_ps()
    return {pid: command for pid, command in found.items() if pid != tracker}


def _children_from_proc() -> dict[int, str]:
    """Ask each thread for its children: looking at every process takes a hundred times as long."""
    children = {}
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - twice in every test
        with contextlib.suppress(OSError):
            for pid in Path(f"/proc/self/task/{thread}/children").read_text().split():
                children[int(pid)] = _command(int(pid))
    return children


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ") or "(ended)"
    return "(gone)"


def _children_from_ps() -> dict[int, str]:
    with subprocess.Popen(
        ["ps", "-axo", "pid=,ppid=,command="], stdout=subprocess.PIPE, text=True, errors="replace"
    ) as ps:
        lines = [line.split(None, 2) for line in ps.communicate()[0].splitlines()]
    mine = {int(pid): command for pid, parent, command in lines if int(parent) == os.getpid()}
    mine.pop(ps.pid, None)
    return mine


def _running_qthreads(started: Started) -> list[str]:
    return [
        f"QThread {thread.objectName()!r}, started here:\n{stack}"
        for thread, stack in started.qthreads
        if shiboken6.isValid(thread) and thread.isRunning()
    ]


def _new_threads(before: set[threading.Thread]) -> list[str]:
    return [
        f"thread {thread.name!r} (not a daemon)"
        for thread in threading.enumerate()
        if thread not in before and not thread.daemon
    ]


def _new_children(before: dict[int, str]) -> list[str]:
    return [f"child process {pid}: {command}" for pid, command in child_processes().items() if pid not in before]


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
