"""Questions to the hub that a person waits for: how far they are on stderr, and Ctrl-C ends them."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from mtplx_engine.cli import ctrl_c
from mtplx_engine.hub.interrupt import Interrupt
from mtplx_engine.hub.problem import CancelledError
from mtplx_engine.progress import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from mtplx_engine.progress import Report

    _T = TypeVar("_T")


def ask(work: Callable[[Interrupt, Report], _T]) -> _T:
    """Ask, and return the answer.

    Args:
        work: Makes the requests, which the interrupt stops, and reports how far it is.

    Raises:
        EngineError: The hub does not let us.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    interrupt = Interrupt()
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        found = ctrl_c.on_thread(lambda: work(interrupt, line), interrupt.set)
    if isinstance(found, CancelledError):
        raise KeyboardInterrupt from found
    if isinstance(found, BaseException):
        raise found
    return found
