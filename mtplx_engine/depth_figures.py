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

SAMPLES = 3  # times before a depth counts as measured: the least that outvote one outlier
_WINDOW = 63  # cycles whose times are averaged: their mean is then known to some 1.5 %
_KEEP = 0.99  # weight left to an acceptance after another draft at its position: some 100 of them count
_FADE = 0.998  # weight left to what was measured after a cycle that said nothing about it
_JITTER = 0.15  # how far one time is from the mean, as a share of it


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
    """The seconds of a cycle at one depth: a mean without the extremes, since single cycles wait for other things."""

    times: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    weight: float = 0.0  # how many of the times still count
    mean: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a cycle."""
        self.times.append(seconds)
        self.weight = min(self.weight + 1, len(self.times))
        cut = (len(self.times) + 5) // 8
        inner = sorted(self.times)[cut : len(self.times) - cut] if len(self.times) > 2 else self.times
        self.mean = sum(inner) / len(inner)

    def fade(self) -> None:
        """Count a cycle at another depth."""
        self.weight *= _FADE

    def forget(self) -> None:
        """Let the next times outweigh what came before."""
        while len(self.times) > SAMPLES:
            self.times.popleft()
        self.weight = min(self.weight, 1.0)

    @property
    def measured(self) -> bool:
        """Whether the mean says anything."""
        return len(self.times) >= SAMPLES

    @property
    def lowest(self) -> float:
        """What it may well be in truth."""
        return self.mean / (1 + _JITTER / math.sqrt(max(self.weight, 0.01)))


@dataclass(slots=True)
class Acceptance:
    """Conditional acceptance at one position, beginning at 1 of 2."""

    accepted: float = 0.0
    offered: float = 0.0

    def add(self, accepted: bool) -> None:  # noqa: FBT001 - it is the sample
        """Count a draft that was verified at this position."""
        self.accepted = _KEEP * self.accepted + accepted
        self.offered = _KEEP * self.offered + 1

    def forget(self) -> None:
        """Let the next drafts outweigh what came before."""
        share = min(1.0, 1 / max(self.offered, 1))
        self.accepted *= share
        self.offered *= share

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
