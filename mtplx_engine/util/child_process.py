"""Run a module in a child process that exits with its parent: `run` here, the rest in the child."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


_TICK_S = 0.1


def run(
    module: str,
    arguments: list[str],
    log: Path,
    tick: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run `python -m module arguments` in a child process, wait for it and return its exit code.

    Its output goes to `log`. `tick` is called about ten times a second meanwhile; when it raises, the child is killed.
    `environment` adds variables to those of this process.
    """
    command = [sys.executable, "-I", "-m", __name__, module, *arguments]
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # kept open and unused: end of file tells the child that this process is gone
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
        )
    try:
        while True:
            try:
                return child.wait(_TICK_S)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        child.kill()
        child.wait()
        if child.stdin:
            child.stdin.close()


def _exit_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
