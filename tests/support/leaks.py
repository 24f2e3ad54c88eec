"""Finds what a test left behind: QThreads, Python threads that keep the process alive, child processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import traceback
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QThread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A QThread that is collected while it runs aborts the process, which would hide the report.
_leaked: list[QThread] = []


@contextlib.contextmanager
def no_leaks(started: list[tuple[QThread, str]], grace_s: float = 1.0) -> Iterator[None]:
    """Raise AssertionError when the block leaves a thread or a child process behind.

    Args:
        started: The QThreads that the block starts, each with the stack of its start (see `recording_start`).
        grace_s: What was told to end may still be on its way out for this long.
    """
    threads, children = set(threading.enumerate()), child_processes()
    yield
    deadline = time.monotonic() + grace_s
    while found := _running_qthreads(started) + _new_threads(threads) + _new_children(children):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    _leaked.extend(thread for thread, _ in started if shiboken6.isValid(thread) and thread.isRunning())
    for pid in child_processes().keys() - children.keys():
        _end(pid)
    assert not found, "left running after the test:\n" + "\n".join(found)


def recording_start(started: list[tuple[QThread, str]]) -> Callable[..., None]:
    """Return a replacement for `QThread.start` that notes each thread and where it was started."""
    original = QThread.start

    def start(thread: QThread, *args: QThread.Priority) -> None:
        started.append((thread, "".join(traceback.format_stack(limit=6)[:-1])))
        original(thread, *args)

    return start


def child_processes() -> dict[int, str]:
    """Return the children of this process, zombies included: process id -> command line."""
    tracker = resource_tracker._resource_tracker._pid  # belongs to the interpreter, lives as long as it does
    found = _children_from_proc() if Path("/proc/self/task").is_dir() else _children_from_ps()
    return {pid: command for pid, command in found.items() if pid != tracker}


def _children_from_proc() -> dict[int, str]:
    children = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # The name in parentheses may hold spaces; state and parent come after it.
            state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid():
                command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
                children[int(entry.name)] = command or f"(state {state})"
    return children


def _children_from_ps() -> dict[int, str]:
    with subprocess.Popen(
        ["ps", "-axo", "pid=,ppid=,command="], stdout=subprocess.PIPE, text=True, errors="replace"
    ) as ps:
        lines = [line.split(None, 2) for line in ps.communicate()[0].splitlines()]
    mine = {int(pid): command for pid, parent, command in lines if int(parent) == os.getpid()}
    mine.pop(ps.pid, None)
    return mine


def _running_qthreads(started: list[tuple[QThread, str]]) -> list[str]:
    return [
        f"QThread {thread.objectName()!r}, started here:\n{stack}"
        for thread, stack in started
        if shiboken6.isValid(thread) and thread.isRunning()
    ]


def _new_threads(before: set[threading.Thread]) -> list[str]:
    return [
        f"thread {thread.name!r} (not a daemon)"
        for thread in threading.enumerate()
        if thread not in before and not thread.daemon
    ]


def _new_children(before: dict[int, str]) -> list[str]:
    return [
        f"child process {pid}: {command}" for pid, command in child_processes().items() if pid not in before
    ]


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
