"""Keeps a Mac awake while a model is fetched: macOS sleeps after minutes without a key, and a download takes longer."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Running(Protocol):
    """A program that was started."""

    def terminate(self) -> None:
        """Tell it to end."""

    def wait(self) -> int:
        """Wait until it has."""
        ...


def _start(arguments: list[str]) -> Running:
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def kept(start: Callable[[list[str]], Running] = _start) -> Iterator[None]:
    """Keep a Mac from idle sleep in the block, but let its display sleep; nothing happens on other machines.

    Args:
        start: Starts macOS's own program for it, which ends by itself if this process is killed.
    """
    if platform.system() != "Darwin":
        yield
        return
    try:
        running = start(["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())])
    except OSError:  # the download goes on after the sleep in any case
        yield
        return
    try:
        yield
    finally:
        running.terminate()
        running.wait()
