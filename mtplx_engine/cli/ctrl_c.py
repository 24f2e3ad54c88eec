"""Ctrl-C as a wish to stop, not as an exception that may strike anywhere."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")


@contextlib.contextmanager
def calls(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C in the block; a second one raises KeyboardInterrupt."""
    pressed = False

    def press(_signal: int, _frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        stop()

    former = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def on_thread(
    work: Callable[[], _T],
    stop: Callable[[], None],
    tick: Callable[[], None] = lambda: None,
    every_s: float = 0.2,
) -> _T | BaseException:
    """Do something on a thread of its own, so that Ctrl-C is heard at once whatever it waits for.

    Args:
        work: What to do.
        stop: Ends it; called at the first Ctrl-C.
        tick: Called again and again meanwhile.
        every_s: How often, in seconds.

    Returns:
        What it returned, or what it raised.
    """
    outcome: list[_T | BaseException] = []

    def run_it() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            outcome.append(error)

    thread = threading.Thread(target=run_it, name="command")
    with calls(stop):
        thread.start()
        while thread.is_alive():
            tick()
            thread.join(every_s)
    return outcome[0]
