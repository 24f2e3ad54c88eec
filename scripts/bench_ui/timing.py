"""Clocks that leave out the time other programs took, gaps of the event loop, and the table of results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from PySide6.QtCore import QObject, Qt, QTimer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


LONGEST_BLOCK_MS: Final = 300.0
_HEADINGS = ("what", "measured", "limit", "by the clock", "")


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    Attributes:
        what: What was measured.
        measured: The value that is judged; times are own times (see `OwnTime`).
        unit: Its unit.
        limit: Upper limit, None without one.
        wall: The same by the wall clock, where the two can differ.
    """

    what: str
    measured: float
    unit: str
    limit: float | None = None
    wall: float | None = None

    @property
    def over(self) -> bool:
        """Whether the value is above its limit."""
        return self.limit is not None and self.measured > self.limit

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its line."""
        verdict = "" if self.limit is None else "over" if self.over else "ok"
        return (
            self.what,
            f"{_number(self.measured)} {self.unit}",
            "" if self.limit is None else f"{_number(self.limit)} {self.unit}",
            "" if self.wall is None else f"{_number(self.wall)} {self.unit}",
            verdict,
        )


def timed(what: str, took: Moment, limit_ms: float | None = None) -> Result:
    """Return a time as a result in milliseconds."""
    return Result(what, 1000 * took.own, "ms", limit_ms, 1000 * took.wall)


def table(results: Sequence[Result]) -> str:
    """Return the table as text."""
    rows = [_HEADINGS, *(result.cells() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < column < len(_HEADINGS) - 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


_SCHEDSTAT = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time or a duration, in seconds.

    Attributes:
        wall: By the monotonic clock.
        own: The same without the time in which this thread could have run but no core was free for it: what it
            computed, slept, and waited for locks and disks.
    """

    wall: float
    own: float

    def since(self, earlier: Moment) -> Moment:
        """Return the time between the two."""
        return Moment(self.wall - earlier.wall, self.own - earlier.own)


class OwnTime:
    """A clock for the thread that creates it.

    Linux counts how long a thread waited for a core; elsewhere own time is the time by the clock.
    """

    def __init__(self) -> None:
        self._waits = _SCHEDSTAT.open("rb", buffering=0) if _SCHEDSTAT.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> Moment:
        """Return the time of now."""
        wall = time.monotonic()
        if self._waits is None:
            return Moment(wall, wall)
        self._waits.seek(0)
        return Moment(wall, wall - int(self._waits.read().split()[1]) / 1e9)

    def close(self) -> None:
        """Close the file that the clock reads."""
        if self._waits is not None:
            self._waits.close()


_TICK_MS = 4


class LoopWatch(QObject):
    """Measures the gaps of an event loop with a timer of few milliseconds.

    Attributes:
        gaps: The times between its timeouts since `start`; 4 ms in an idle loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[Moment] = []
        self._clock = OwnTime()
        self._last = self._clock.now()
        self._timer = QTimer(self, interval=_TICK_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Forget all gaps and start the timer."""
        self.gaps.clear()
        self._last = self._clock.now()
        self._timer.start()

    def stop(self) -> None:
        """Note the last gap and stop the timer."""
        self._tick()
        self._timer.stop()

    def close(self) -> None:
        """Stop the timer and close the clock."""
        self._timer.stop()
        self._clock.close()

    def longest(self) -> Moment:
        """Return the gap with the longest own time."""
        return max(self.gaps, key=lambda gap: gap.own, default=Moment(0.0, 0.0))

    def percentile(self, share: float) -> Moment:
        """Return a percentile of the gaps, of both times separately; `share` is from 0 to 1."""
        return Moment(self._percentile(share, lambda gap: gap.wall), self._percentile(share, lambda gap: gap.own))

    def _percentile(self, share: float, time_of: Callable[[Moment], float]) -> float:
        ordered = sorted(map(time_of, self.gaps))
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def _tick(self) -> None:
        now = self._clock.now()
        self.gaps.append(now.since(self._last))
        self._last = now
