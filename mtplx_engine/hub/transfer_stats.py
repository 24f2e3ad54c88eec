"""Progress and speed of a download. Free of the HTTP stack, since the start of the window reads it."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_engine.hub.retries import Waiting


_WINDOW_S = 8.0
_SOON_S = 1.0  # shorter spans are no measurement


class Speed:
    """Speed over the last 8 seconds, of the bytes that come over the network."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now_s: float, fetched: int) -> None:
        """Record the bytes fetched so far at a time of a monotonic clock; neither ever decreases."""
        self._seen.append((now_s, fetched))
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= _WINDOW_S:
            self._seen.popleft()

    @property
    def bytes_s(self) -> float | None:
        """Bytes per second, None before there is a measurement."""
        if not self._seen:
            return None
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_s - first_s) if last_s - first_s >= _SOON_S else None

    def seconds_left(self, count: int) -> float | None:
        """Return how long so many bytes take at this speed, None when it is zero or unknown."""
        speed = self.bytes_s
        return count / speed if speed else None


class TransferStats:
    """Byte counters of a download; thread-safe.

    Attributes:
        done: Valid bytes on the disk.
        fetched: Bytes that came over the network; never decreases.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.done = 0
        self.fetched = 0
        self.waiting: Waiting | None = None

    def find(self, count: int) -> None:
        """Count bytes that earlier runs have fetched."""
        with self._lock:
            self.done += count

    def receive(self, count: int) -> None:
        """Count bytes that came over the network; a negative number takes back invalid ones."""
        with self._lock:
            self.done += count
            if count > 0:
                self.fetched += count
                self.waiting = None

    def wait(self, waiting: Waiting | None) -> None:
        """Record the begin of a wait, or with None its end."""
        with self._lock:
            self.waiting = waiting
