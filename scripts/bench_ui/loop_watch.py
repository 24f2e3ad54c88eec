"""How long the event loop leaves what happens without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from scripts.bench_ui.own_time import Moment, OwnTime

if TYPE_CHECKING:
    from collections.abc import Callable


_TICK_MS = 4


class LoopWatch(QObject):
    """Asks for its turn every few milliseconds, and notes how long each turn took to come.

    Attributes:
        gaps: The time between each two turns since `start`; a loop that has nothing to do leaves 4 ms.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[Moment] = []
        self._clock = OwnTime()
        self._last = self._clock.now()
        self._timer = QTimer(self, interval=_TICK_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin anew."""
        self.gaps.clear()
        self._last = self._clock.now()
        self._timer.start()

    def stop(self) -> None:
        """Note the gap that is open, and no more."""
        self._tick()
        self._timer.stop()

    def close(self) -> None:
        """End it."""
        self._timer.stop()
        self._clock.close()

    def longest(self) -> Moment:
        """Return the gap with the longest own time."""
        return max(self.gaps, key=lambda gap: gap.own, default=Moment(0.0, 0.0))

    def percentile(self, share: float) -> Moment:
        """Return what `share` of the gaps are not above, each of both times for itself."""
        return Moment(
            self._percentile(share, lambda gap: gap.wall), self._percentile(share, lambda gap: gap.own)
        )

    def _percentile(self, share: float, time_of: Callable[[Moment], float]) -> float:
        ordered = sorted(map(time_of, self.gaps))
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def _tick(self) -> None:
        now = self._clock.now()
        self.gaps.append(now.since(self._last))
        self._last = now
