"""End a command's process. A module of its own, since `entry` must import next to nothing."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn


def end(code: int) -> NoReturn:
    """End this process after Python's exit handlers, and before the destructors of C++.

    mlx keeps a thread for each stream, which the destructors of its library may find running; then they abort a
    process that has done all it was asked for.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 - nothing public runs them
    for stream in (sys.stdout, sys.stderr):
        # The reader has gone, or the stream is closed; `main` has told whatever can be told.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
