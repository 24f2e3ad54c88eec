"""What a depth controller measures: the cost of a cycle at a depth, and acceptance at a position.

Both say what they have seen and, one standard error further, what may well be true; this grows while nothing new
is seen.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLES = 3  # times before a depth counts as measured
_WINDOW = 127  # cycles whose times are averaged: their mean is then known to 1 or 2 %
_KEEP = 0.993  # weight left to an acceptance after another draft at its position: some 140 of them count
MOST_OFFERED = 1 / (1 - _KEEP)  # what an acceptance counts at most as offered
_FADE = 0.998  # weight left to what was measured after a cycle that said nothing about it


@dataclass(frozen=True, slots=True)
class Figures:
    """What a controller has measured, to begin with it the next time.

    Attributes:
        best: The depth that decoded fastest.
        costs: Seconds of a cycle at depth 0, 1, ...; None where it was not measured.
        accepted: Accepted drafts at position 1, 2, ..., older ones counting for less.
        offered: Drafts that were verified at those positions, counted in the same way.
    """

    best: int
    costs: tuple[float | None, ...]
    accepted: tuple[float, ...]
    offered: tuple[float, ...]


@dataclass(slots=True)
class Cost:
    """The seconds of a cycle at one depth: the mean of the middle half, since single cycles wait for other things."""

    times: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    weight: float = 0.0  # how many of the times still count
    _middle: tuple[float, float] | None = None  # mean and least of the middle half, until another time comes

    def add(self, seconds: float) -> None:
        """Count a cycle, and drop old times as far as they have faded."""
        while len(self.times) >= max(self.weight + 1, SAMPLES):
            self.times.popleft()
        self.times.append(seconds)
        self.weight = min(self.weight + 1, len(self.times))
        self._middle = None

    def begin_with(self, seconds: float) -> None:
        """Take over a cost from before, as if measured just often enough."""
        self.times.extend([seconds] * SAMPLES)
        self.weight = float(SAMPLES)

    def fade(self) -> None:
        """Count a cycle at another depth."""
        self.weight *= _FADE

    @property
    def measured(self) -> bool:
        """Whether the mean says anything."""
        return len(self.times) >= SAMPLES

    @property
    def mean(self) -> float:
        """The estimate, 0 without times."""
        return self._quartiles()[0]

    @property
    def lowest(self) -> float:
        """What it may well be in truth: the low quartile of a few times, nearer to the mean of many."""
        mean, low = self._quartiles()
        return mean / (1 + (mean / low - 1) * math.sqrt(SAMPLES / max(self.weight, 0.01))) if low else mean

    def _quartiles(self) -> tuple[float, float]:
        if self._middle is None:
            times = sorted(self.times) or [0.0]
            cut = min((len(times) + 1) // 4, (len(times) - 1) // 2)
            middle = times[cut : len(times) - cut]
            self._middle = sum(middle) / len(middle), times[max(0, cut - 1)]
        return self._middle


@dataclass(slots=True)
class Acceptance:
    """Conditional acceptance at one position, beginning at 1 of 2."""

    accepted: float = 0.0
    offered: float = 0.0

    def add(self, accepted: bool) -> None:  # noqa: FBT001 - it is the sample
        """Count a draft that was verified at this position."""
        self.accepted = _KEEP * self.accepted + accepted
        self.offered = _KEEP * self.offered + 1

    def fade(self) -> None:
        """Count a cycle that said nothing about this position."""
        self.accepted *= _FADE
        self.offered *= _FADE

    @property
    def mean(self) -> float:
        """The estimate."""
        return (self.accepted + 1) / (self.offered + 2)

    @property
    def highest(self) -> float:
        """What it may well be in truth."""
        mean = self.mean
        return min(1.0, mean + math.sqrt(mean * (1 - mean) / (self.offered + 2)))


def expected_tokens(accepted: Sequence[float]) -> float:
    """Return E(k), the expected tokens of a cycle, from the k conditional acceptances."""
    total = reach = 1.0
    for chance in accepted:
        reach *= chance
        total += reach
    return total
