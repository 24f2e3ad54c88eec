"""How far a download is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_engine.hub.waiting import Waiting


class Tally:
    """Counts bytes; callable from any thread.

    Attributes:
        done: Bytes that are on the disk and of use.
        fetched: Bytes that came over the network, since this was made; never fewer than before.
        waiting: Why nothing comes at the moment, None while something does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.done = 0
        self.fetched = 0
        self.waiting: Waiting | None = None

    def find(self, count: int) -> None:
        """Count bytes that were there before."""
        with self._lock:
            self.done += count

    def receive(self, count: int) -> None:
        """Count bytes that came over the network; a negative number for some that turned out to be of no use."""
        with self._lock:
            self.done += count
            if count > 0:
                self.fetched += count
                self.waiting = None

    def wait(self, waiting: Waiting | None) -> None:
        """Note that a wait begins, or with None that it is over."""
        with self._lock:
            self.waiting = waiting
