"""Chooses the draft depth from what was measured: the cost of a cycle at each depth, and acceptance by position.

With E(k) = 1 + sum over i <= k of the product of the first i conditional acceptances, and C(k) the time of a cycle at
depth k, the depth with the largest E(k) / C(k) decodes fastest; depth 0 is one of them. The choice looks only at
cycles that are over, so it never changes the law of the output.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# "auto" with a seed: what is fastest follows the clock, and a text that shall repeat must not.
REPEATABLE_DEPTH = 1

_DECAY = 0.05  # weight of the newest observation in a running mean
_SAMPLES = 4  # cycles per depth before its cost counts as measured
_PRIOR = (0.5, 2)  # acceptance before anything was drafted, and the observations that it counts for
_MARGIN = 1.03  # a change must promise this much, or noise would make the depth flutter
_OUTLIER = 4  # a cycle that took longer than so many usual ones waited for something else
_PROBE = 6  # cycles of a look at another depth
_FIRST_PROBE, _LAST_PROBE = 16, 512  # cycles between two looks
_FADE = 0.5  # what is left of the confidence in a depth from one look to the next


@dataclass(slots=True)
class _Mean:
    """A running mean that is plain at first and forgets slowly later."""

    value: float = 0.0
    count: int = 0

    def add(self, sample: float) -> None:
        self.count += 1
        self.value += (sample - self.value) * max(_DECAY, 1 / self.count)

    def fade(self) -> None:
        """Count what was seen for less, so that the next samples weigh more; it stays a measured mean."""
        self.count = min(self.count, max(_SAMPLES, int(_FADE * self.count)))

    def add_time(self, seconds: float) -> None:
        """Add a sample to a mean of times, where single ones can be far too long, the first one too."""
        if self.count and self.value > _OUTLIER * seconds:
            self.value, self.count = seconds, 1
        else:
            self.add(min(seconds, _OUTLIER * self.value) if self.count else seconds)


@dataclass(slots=True)
class DepthController:
    """Keeps the figures of one model on this machine and chooses the next depth.

    Attributes:
        max_depth: The deepest draft it may choose.
        best: The depth that decodes fastest by what is known so far.
    """

    max_depth: int
    best: int = 0
    _cost: list[_Mean] = field(init=False)
    _accepted: list[_Mean] = field(init=False)
    _confidence: list[float] = field(init=False)  # cycles measured at each depth, older ones fading
    _cycles: int = 0
    _last: int | None = None
    _interval: int = _FIRST_PROBE
    _next_probe: int = _FIRST_PROBE
    _probed: int | None = None
    _probe_end: int = 0

    def __post_init__(self) -> None:
        self._cost = [_Mean() for _ in range(self.max_depth + 1)]
        self._accepted = [_Mean(*_PRIOR) for _ in range(self.max_depth)]
        self._confidence = [0.0] * (self.max_depth + 1)

    def choose(self) -> int:
        """Return the depth of the next cycle: one not measured yet, one to look at again, or the best."""
        frontier = self._frontier()
        if frontier is not None:
            return frontier
        return self.best if self._probed is None else self._probed

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        """Add a cycle: its depth, how many drafts were accepted, and the time since the cycle before it.

        The time of the first cycle after a change of depth is left out: part of it belongs to the other depth. A
        request may ask for a depth beyond `max_depth`; that cycle tells about acceptance only.
        """
        for position in range(min(depth, accepted + 1, self.max_depth)):
            self._accepted[position].add(float(accepted > position))
        if depth == self._last and depth <= self.max_depth:
            self._cost[depth].add_time(seconds)
            self._confidence[depth] += 1
        self._last = depth
        self._cycles += 1
        if self._frontier() is None:
            self._settle()

    def rate(self, depth: int) -> float:
        """Return expected tokens per second at a depth, 0 while its cost is not measured."""
        mean = self._cost[depth]
        return self.expected_tokens(depth) / mean.value if mean.count and mean.value else 0.0

    def expected_tokens(self, depth: int) -> float:
        """Return E(k), the expected tokens of a cycle."""
        total = reach = 1.0
        for mean in self._accepted[:depth]:
            reach *= mean.value
            total += reach
        return total

    def _frontier(self) -> int | None:
        """Return the shallowest unmeasured depth, or None when going deeper cannot pay."""
        for depth, mean in enumerate(self._cost):
            if mean.count < _SAMPLES:
                return depth if depth < 2 or self._may_pay(depth) else None
        return None

    def _may_pay(self, depth: int) -> bool:
        """Return whether a depth could be the best if it cost no more than the one before and was always accepted."""
        expected = self.expected_tokens(depth - 1)
        reach = expected - self.expected_tokens(depth - 2)
        return expected + reach > self._cost[depth - 1].value * max(map(self.rate, range(depth)))

    def _settle(self) -> None:
        """Move to a clearly better depth; from time to time look at another one."""
        winner = max(range(self.max_depth + 1), key=self.rate)
        if self.rate(winner) > _MARGIN * self.rate(self.best):
            self.best, self._interval = winner, _FIRST_PROBE
            self._next_probe = self._cycles + self._interval
        if self._cycles >= self._next_probe:
            self._interval = min(2 * self._interval, _LAST_PROBE)
            self._next_probe = self._cycles + self._interval
            self._probed, self._probe_end = self._most_promising(), self._cycles + _PROBE
            self._fade()
        elif self._cycles >= self._probe_end:
            self._probed = None

    def _fade(self) -> None:
        """Trust less in what the best depth tells nothing about."""
        self._confidence = [_FADE * cycles for cycles in self._confidence]
        for mean in (*self._cost[: self.best], *self._cost[self.best + 1 :], *self._accepted[self.best :]):
            mean.fade()

    def _most_promising(self) -> int | None:
        """Return the measured depth that may beat the best one, fast or not looked at for long."""
        others = [depth for depth, mean in enumerate(self._cost) if mean.count and depth != self.best]
        return max(
            others, key=lambda depth: self.rate(depth) * (1 + self._confidence[depth] ** -0.5), default=None
        )
