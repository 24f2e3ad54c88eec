"""Chooses the draft depth from what was measured: the cost of a cycle at each depth, and acceptance by position.

With E(k) = 1 + sum over i <= k of the product of the first i conditional acceptances, and C(k) the time of a cycle at
depth k, the depth with the largest E(k) / C(k) decodes fastest; depth 0 is one of them. Other depths are looked at
now and then, when they could be better by what is known and the time lost so far by looking allows it. The choice
looks only at cycles that are over, so it never changes the law of the output.
"""

from __future__ import annotations

from mtplx_engine.depth_figures import SAMPLES, Acceptance, Cost, Figures, expected_tokens

# "auto" with a seed: what is fastest follows the clock, and a text that shall repeat must not.
REPEATABLE_DEPTH = 1

_PLAIN_BONUS = 1.02  # drafting must beat plain decoding by this much
_PAUSE = 16  # cycles after a look that changed nothing
_MARGIN = 1.02  # a change must promise this much, or noise would make the depth flutter
_ADVANCE = 4.0  # plain steps that looks at a new model may lose at once,
_SHARE = 0.008  # and the share of all time that they may lose after that
_LONGEST_LOOK = 12  # cycles; a look that has not decided by then goes on later
_OLD = 400  # cycles without a look after which the most promising depth's figures are forgotten
_PLAIN_FIRST = 5  # plain cycles timed before the first look


class DepthController:
    """Keeps the figures of one model on this machine and chooses the next depth.

    Args:
        max_depth: The deepest draft it may choose.
        known: What was measured before, if anything.

    Attributes:
        max_depth: As above.
        best: The depth that decodes fastest by what is known so far.
    """

    def __init__(self, max_depth: int, known: Figures | None = None) -> None:
        self.max_depth = max_depth
        self.best = 0
        self._costs = [Cost() for _ in range(max_depth + 1)]
        self._accepted = [Acceptance() for _ in range(max_depth)]
        self._look: int | None = None
        self._look_cycles = self._pause = 0
        self._last: int | None = None
        self._elapsed = self._lost = 0.0
        self._advance = _ADVANCE
        if known is not None:
            self._begin_with(known)

    def choose(self) -> int:
        """Return the depth of the next cycle: the best, or one that is being looked at."""
        return self.best if self._look is None else self._look

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        """Add a cycle: how many drafts were verified and accepted, and the time since the cycle before it.

        A drafter may draft less than was chosen, and a request may ask for more than `max_depth`: acceptance counts
        as far as drafts went. Times count where two cycles in a row had the same depth, since part of the first one
        belongs to the depth before it; where a drafter was asked and had nothing they are no times of plain decoding.
        """
        chosen = self.choose()
        for position, acceptance in enumerate(self._accepted):
            if position < min(depth, accepted + 1):
                acceptance.add(accepted > position)
            else:
                acceptance.fade()
        if depth == self._last and depth <= self.max_depth and (depth or not chosen):
            self._costs[depth].add(seconds)
        for other, cost in enumerate(self._costs):
            if other != depth:
                cost.fade()
        self._last = depth
        self._elapsed += seconds
        self._decide(depth, accepted + 1, seconds)

    def rate(self, depth: int) -> float:
        """Return expected tokens per second at a depth, 0 while its cost is not measured."""
        cost = self._costs[depth]
        return self.expected_tokens(depth) / cost.mean if cost.measured and cost.mean else 0.0

    def expected_tokens(self, depth: int) -> float:
        """Return E(k), the expected tokens of a cycle."""
        return expected_tokens([acceptance.mean for acceptance in self._accepted[:depth]])

    def figures(self) -> Figures:
        """Return what was measured."""
        return Figures(
            best=self.best,
            costs=tuple(cost.mean if cost.measured else None for cost in self._costs),
            accepted=tuple(acceptance.accepted for acceptance in self._accepted),
            offered=tuple(acceptance.offered for acceptance in self._accepted),
        )

    def _begin_with(self, known: Figures) -> None:
        """Take over figures, the costs as if just measured a few times, so that new ones soon outweigh them."""
        for cost, seconds in zip(self._costs, known.costs, strict=False):
            for _ in range(SAMPLES if seconds else 0):
                cost.add(seconds or 0.0)
        for acceptance, accepted, offered in zip(self._accepted, known.accepted, known.offered, strict=False):
            acceptance.accepted, acceptance.offered = accepted, offered
        if known.best <= self.max_depth and self.rate(known.best):
            self.best, self._advance = known.best, 0.0

    def _decide(self, depth: int, tokens: int, seconds: float) -> None:
        """Account for a cycle, then begin or end a look, and move to a depth that is clearly better."""
        pace = self.rate(self.best)
        if not pace or len(self._costs[0].times) < _PLAIN_FIRST:
            return
        if self._look is not None and depth <= self._look:
            self._look_cycles += 1
            self._lost += min(seconds, (depth + 1) * self._costs[0].mean) - tokens / pace
        winner = max(range(self.max_depth + 1), key=self._worth)
        if self._worth(winner) > (_MARGIN if winner > self.best else 1) * self._worth(self.best):
            self.best, self._look, self._pause = winner, None, 0
        elif self._look is not None and self._look_is_over(self._look):
            self._look, self._pause = None, _PAUSE
        self._pause -= 1
        if self._look is None and self._pause < 0:
            self._look, self._look_cycles = self._worth_a_look(), 0

    def _look_is_over(self, depth: int) -> bool:
        if self._look_cycles <= SAMPLES:
            return False
        too_dear = self._lost > self._allowance
        return too_dear or self._look_cycles >= _LONGEST_LOOK or not self._promising(depth)

    def _worth_a_look(self) -> int | None:
        """Return the depth that could be better by most, if looking at it is not too dear now."""
        others = [depth for depth, cost in enumerate(self._costs) if cost.measured and depth != self.best]
        others += [depth for depth, cost in enumerate(self._costs) if not cost.measured][:1]
        if not others:
            return None
        depth = max(others, key=self._highest_rate)
        if -self._pause > _OLD:
            self._forget(depth)
        if not self._promising(depth):
            return None
        loss = self._least_cost(depth) - self.expected_tokens(depth) / self.rate(self.best)
        return depth if self._lost + (SAMPLES + 1) * max(0.0, loss) <= self._allowance else None

    def _forget(self, depth: int) -> None:
        """Measure a depth anew, since the machine or the text may have changed."""
        self._pause = 0
        self._costs[depth].forget()
        for acceptance in self._accepted[:depth]:
            acceptance.forget()

    def _promising(self, depth: int) -> bool:
        """Return whether a depth may well be better than the best."""
        highest = self._highest_rate(depth) * (_PLAIN_BONUS if depth == 0 else 1)
        return highest > _MARGIN * self._worth(self.best)

    @property
    def _allowance(self) -> float:
        """Seconds that looks may have lost by now."""
        return self._advance * self._costs[0].mean + _SHARE * self._elapsed

    def _least_cost(self, depth: int) -> float:
        """Return what a cycle may well cost: a depth never tried costs no less than the one before it."""
        cost = self._costs[depth]
        if not cost.times:
            return self._least_cost(depth - 1)
        return min(cost.lowest, (depth + 1) * self._costs[0].mean)  # a longer one waited for something else

    def _worth(self, depth: int) -> float:
        """Return the rate, plain decoding having the benefit of the doubt."""
        return self.rate(depth) * (_PLAIN_BONUS if depth == 0 else 1)

    def _highest_rate(self, depth: int) -> float:
        """Return the tokens per second that a depth may well give."""
        tokens = expected_tokens([acceptance.highest for acceptance in self._accepted[:depth]])
        return tokens / self._least_cost(depth)
