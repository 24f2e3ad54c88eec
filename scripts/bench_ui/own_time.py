"""Time without what other programs took of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_SCHEDSTAT = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, or the length of one, in seconds.

    Attributes:
        wall: By the clock.
        own: The same without the time in which this thread could have run but no core was free for it: what it
            computed, slept, and waited for locks and disks.
    """

    wall: float
    own: float

    def since(self, earlier: Moment) -> Moment:
        """Return the time between the two."""
        return Moment(self.wall - earlier.wall, self.own - earlier.own)


class OwnTime:
    """A clock for the thread that makes it.

    Linux counts how long a thread waited for a core; elsewhere own time is the time by the clock.
    """

    def __init__(self) -> None:
        self._waits = _SCHEDSTAT.open("rb", buffering=0) if _SCHEDSTAT.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> Moment:
        """Return the time."""
        wall = time.monotonic()
        if self._waits is None:
            return Moment(wall, wall)
        self._waits.seek(0)
        return Moment(wall, wall - int(self._waits.read().split()[1]) / 1e9)

    def close(self) -> None:
        """Give back what the clock reads."""
        if self._waits is not None:
            self._waits.close()
