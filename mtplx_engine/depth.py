"""Choose the draft depth online from estimated acceptance rates and measured cycle times.

The speed at depth k is E(k) / cost(k): the expected tokens of a cycle, E(k) = 1 + a1 + a1 a2 + ... + a1 ... ak with the
conditional acceptance rates ai (Leviathan et al. 2023, section 3.1, has the case of equal ones), over its measured
seconds. The controller decodes at the best depth and now and then explores another for a round of a few cycles; two
budgets, counted in tokens, bound what exploration and drafting itself may lose.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


SAMPLES = 3  # timed cycles before a depth counts as measured
_WINDOW = 127  # cycles whose times are averaged: their mean is then known to 1 or 2 %
_KEEP = 0.993  # decay of an acceptance with each further draft at its position: about 140 of them count
MOST_OFFERED = 1 / (1 - _KEEP)  # the limit of `Acceptance.offered` under this decay
_FADE = 0.998  # decay of an estimate with each cycle that tells nothing about it


@dataclass(frozen=True, slots=True)
class DepthEstimates:
    """What a controller has measured, from which the next one starts.

    Attributes:
        costs: Seconds of a cycle at depth 0, 1, ...; None where it was not measured.
        accepted: Accepted drafts at position 1, 2, ..., with exponentially decaying weights.
        offered: Verified drafts at those positions, weighted in the same way.
    """

    best: int
    costs: tuple[float | None, ...]
    accepted: tuple[float, ...]
    offered: tuple[float, ...]


@dataclass(slots=True)
class Cost:
    """Seconds of a cycle at one depth: the mean of the middle half, since single cycles are delayed by other work."""

    times: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    weight: float = 0.0  # how many of the times still count
    _middle: tuple[float, float] | None = None  # mean and low quartile, cached until another time is added

    def add(self, seconds: float) -> None:
        """Add the time of a cycle, and drop old times as far as they have faded."""
        while len(self.times) >= max(self.weight + 1, SAMPLES):
            self.times.popleft()
        self.times.append(seconds)
        self.weight = min(self.weight + 1, len(self.times))
        self._middle = None

    def begin_with(self, seconds: float) -> None:
        """Take over an earlier estimate, as if measured just often enough."""
        self.times.extend([seconds] * SAMPLES)
        self.weight = float(SAMPLES)

    def fade(self) -> None:
        """Decay after a cycle at another depth."""
        self.weight *= _FADE

    @property
    def measured(self) -> bool:
        return len(self.times) >= SAMPLES

    @property
    def mean(self) -> float:
        """The estimate in seconds, 0 without times."""
        return self._quartiles()[0]

    @property
    def lowest(self) -> float:
        """Optimistic estimate: the low quartile after few times, approaching the mean after many."""
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
    """Conditional acceptance rate at one draft position, with a prior of 1 accepted of 2."""

    accepted: float = 0.0
    offered: float = 0.0

    def add(self, accepted: bool) -> None:  # noqa: FBT001 - it is the sample
        """Count a verified draft at this position."""
        self.accepted = _KEEP * self.accepted + accepted
        self.offered = _KEEP * self.offered + 1

    def fade(self) -> None:
        """Decay after a cycle that verified no draft at this position."""
        self.accepted *= _FADE
        self.offered *= _FADE

    @property
    def mean(self) -> float:
        return (self.accepted + 1) / (self.offered + 2)

    @property
    def highest(self) -> float:
        """Optimistic estimate: one standard error above the mean."""
        mean = self.mean
        return min(1.0, mean + math.sqrt(mean * (1 - mean) / (self.offered + 2)))


def expected_tokens(accepted: Sequence[float]) -> float:
    """Return E(k) = 1 + a1 + a1 a2 + ... + a1 ... ak, the expected tokens of a cycle, from the k rates `accepted`."""
    total = reach = 1.0
    for chance in accepted:
        reach *= chance
        total += reach
    return total


# The depth of "auto" with a seed: the fastest depth depends on timings, and a text that shall repeat must not.
REPEATABLE_DEPTH = 1

# A "look" is a round that explores another depth than the best.
_ROUND = 5  # cycles; the first is not timed, and the others outvote one that was delayed
_FIRST_ROUND = 16  # plain cycles before the first look: all else is compared with them
_PLAIN_BONUS = 1.035  # drafting must beat plain decoding by this factor,
_MARGIN = 1.02  # and any change must promise this factor, or noise would make the depth flutter
_FIRM = 63  # times after which plain decoding is known well enough
_CHEAP = 0.1  # tokens a cycle; looks that lose less are equally cheap,
_GLANCE = 4  # and one in so many rounds without a promising depth looks at such a cheap one
_LOST = 6.0  # tokens; a look that has lost so many ends
_FORGOTTEN = 0.7  # weight of the times below which a depth counts as not measured

# The budgets, in tokens. 2,000 cycles should lose 2 % at most against plain decoding; half of that knowingly, a part in
# advance and the rest as cycles go on; the other half is for errors of the estimates, which are seldom larger.
_BUDGET = 0.02 * 2000
_ADVANCE, _SHARE = _BUDGET / 4, 0.005
_LOOK_ADVANCE = 7.0
_PARKED_SHARE, _DRAFTING_SHARE = (
    0.006,
    0.012,
)  # what looks may lose a step; plain decoding has less to lose from
_LOWEST = -60 * _SHARE  # the largest debt: so many plain cycles repay it


class DepthController:
    """Estimates acceptance rates and cycle times of one model on this machine, and chooses the next depth.

    Args:
        known: Earlier estimates, if there are any.

    Attributes:
        best: The depth that decodes fastest by the present estimates.
        steady: The depth between two looks: the best, or 0 while plain decoding repays what drafting has lost.
    """

    def __init__(self, max_depth: int, known: DepthEstimates | None = None) -> None:
        self.max_depth = max_depth
        self.best = self.steady = self.rounds = 0
        self._costs = [Cost() for _ in range(max_depth + 1)]
        self._accepted = [Acceptance() for _ in range(max_depth)]
        self._depth = 0
        self._looking = False
        self._left_of_round = _FIRST_ROUND
        self._unpromising = 0  # rounds that started without a promising depth
        self._unbooked: list[tuple[int, int, float]] = []  # depth, tokens and seconds of the cycles of this round
        self._last: int | None = None
        self._for_looks, self._for_all = _LOOK_ADVANCE, _ADVANCE
        if known is not None:
            self._begin_with(known)

    def choose(self) -> int:
        return self._depth

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        """Add a cycle: the verified and the accepted drafts, and the seconds since the cycle before it.

        A drafter may draft less than was chosen, and a request may ask for more than `max_depth`: acceptance counts
        as far as drafts went. A time counts where two cycles in a row had the same depth, since part of the first one
        belongs to the depth before it; where a drafter was asked and had nothing it is no time of plain decoding.
        """
        for position, acceptance in enumerate(self._accepted):
            if position < min(depth, accepted + 1):
                acceptance.add(accepted > position)
            else:
                acceptance.fade()
        timed = depth == self._last and (depth or not self._depth)
        for other, cost in enumerate(self._costs):
            if other != depth:
                cost.fade()
            elif timed:
                cost.add(seconds)
        self._last = depth
        self._unbooked.append((depth, accepted + 1, seconds))
        self._left_of_round -= 1
        if self._left_of_round <= 0 or (self._looking and self._lost() > _LOST):
            self._book()
            self._begin_round()

    def rate(self, depth: int) -> float:
        """Return expected tokens per second at a depth, 0 while its cost is not measured."""
        cost = self._costs[depth]
        return self.expected_tokens(depth) / cost.mean if cost.measured and cost.mean else 0.0

    def speedup(self, depth: int) -> float | None:
        """Return the expected speed of a depth as a multiple of plain decoding, None while either is not measured.

        Depth 0 stands for the best depth that drafts.
        """
        depths = range(1, self.max_depth + 1) if depth == 0 else (depth,)
        rates = [self.rate(each) for each in depths if each <= self.max_depth]
        plain, drafting = self.rate(0), max(rates, default=0.0)
        return drafting / plain if plain and drafting else None

    def expected_tokens(self, depth: int) -> float:
        return expected_tokens([acceptance.mean for acceptance in self._accepted[:depth]])

    def estimates(self) -> DepthEstimates:
        return DepthEstimates(
            best=self.best,
            costs=tuple(cost.mean if cost.measured else None for cost in self._costs),
            accepted=tuple(acceptance.accepted for acceptance in self._accepted),
            offered=tuple(acceptance.offered for acceptance in self._accepted),
        )

    def _begin_with(self, known: DepthEstimates) -> None:
        """Take over estimates, the costs as if just measured a few times, so that new times soon outweigh them."""
        for cost, seconds in zip(self._costs, known.costs, strict=False):
            if seconds:
                cost.begin_with(seconds)
        for acceptance, accepted, offered in zip(self._accepted, known.accepted, known.offered, strict=False):
            acceptance.accepted, acceptance.offered = accepted, offered
        if known.best <= self.max_depth and self.rate(known.best):
            self.best = self.steady = self._depth = known.best
            self._left_of_round, self._for_looks = _ROUND, 0.0

    def _begin_round(self) -> None:
        """Move to a depth that is clearly better, and choose the depth of the next round."""
        self._left_of_round = _ROUND
        self.rounds += 1
        if not self.rate(0):
            self._depth = self.steady = 0
            return
        winner = max(range(self.max_depth + 1), key=self._worth)
        if self._worth(winner) > _MARGIN * self._worth(self.best):
            self.best = winner
        overdrawn = self._for_all < 0
        self.steady = 0 if overdrawn else self.best
        self._depth = 0 if overdrawn else self._worth_a_look()
        self._looking = not overdrawn and self._depth != self.best

    def _book(self) -> None:
        """Book tokens won or lost: all cycles against plain decoding, and looks against the best depth.

        Neither balance grows without bound: a good hour does not pay for a bad one.
        """
        step = self._costs[0].mean
        pace = max(1.0, self.rate(self.best) * step)
        share = _DRAFTING_SHARE if self.best else _PARKED_SHARE
        for depth, tokens, seconds in self._unbooked if step else ():
            steps = self._steps(depth, seconds)
            for_all = self._for_all + _SHARE * steps + (tokens - steps if depth else 0)
            for_looks = self._for_looks + share * steps + (tokens - pace * steps if self._looking else 0)
            self._for_all = max(_LOWEST, min(for_all, _BUDGET))
            self._for_looks = max(_LOWEST, min(for_looks, _LOOK_ADVANCE))
        self._unbooked.clear()

    def _lost(self) -> float:
        return sum(self._steps(depth, seconds) - tokens for depth, tokens, seconds in self._unbooked)

    def _steps(self, depth: int, seconds: float) -> float:
        """Return a cycle's time in plain steps; where its depth is measured, the mean, which is free of outliers."""
        known = depth <= self.max_depth and self._costs[depth].measured
        cost = self._costs[depth].mean if known else seconds
        return min(cost / self._costs[0].mean, depth + 1)

    def _worth_a_look(self) -> int:
        """Return the depth with the largest possible gain per token that a look loses, or the best over budget."""
        others = [
            depth
            for depth, cost in enumerate(self._costs)
            if depth != self.best and (cost.measured or self._costs[depth - 1].measured)
        ]
        promising = [depth for depth in others if self._promise(depth) > _MARGIN]
        if not promising and self.best and self._costs[0].weight < _FIRM:
            promising = [0]
        self._unpromising += not promising
        if not promising and self._unpromising % _GLANCE == 0:
            cheap = [depth for depth in others if self._loss(depth) < _CHEAP]
            promising = sorted(cheap, key=self._promise)[-1:]
        look = max(
            promising,
            key=lambda depth: (self._promise(depth) - 1) / max(_CHEAP, self._loss(depth)),
            default=self.best,
        )
        return look if _ROUND * self._loss(look) <= max(0.0, self._for_looks) else self.best

    def _loss(self, depth: int) -> float:
        """Return the tokens that a cycle at a depth probably loses; an unmeasured row costs as much as the last one."""
        seconds = self._costs[depth].mean
        if not self._known(depth):
            seconds = 2 * self._costs[depth - 1].mean - self._costs[max(0, depth - 2)].mean
        return min(seconds, self._most(depth)) * self.rate(self.best) - self.expected_tokens(depth)

    def _known(self, depth: int) -> bool:
        cost = self._costs[depth]
        return depth == 0 or (cost.measured and cost.weight >= _FORGOTTEN)

    def _promise(self, depth: int) -> float:
        """Return the speed of a depth as a multiple of the best one, by the optimistic estimates."""
        tokens = expected_tokens([acceptance.highest for acceptance in self._accepted[:depth]])
        highest = tokens / self._least(depth) * (_PLAIN_BONUS if depth == 0 else 1)
        return highest / self._worth(self.best)

    def _least(self, depth: int) -> float:
        """Return the optimistic cost of a cycle: where it is unknown, that of the depth before."""
        if not self._known(depth):
            return self._least(depth - 1)
        return min(self._costs[depth].lowest, self._most(depth))

    def _most(self, depth: int) -> float:
        return (depth + 1) * self._costs[0].mean

    def _worth(self, depth: int) -> float:
        return self.rate(depth) * (_PLAIN_BONUS if depth == 0 else 1)
