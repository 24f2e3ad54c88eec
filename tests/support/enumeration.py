"""The distribution of a decoding round, measured from the production function `accept` without knowing its rule.

Every branch is driven with chosen random numbers. `accept` sees a uniform only through "is it small enough", so the
probability of accepting is the point where its answer flips, and an exponential race between two tokens flips at the
share that one has of their weights. Such points are found by bisection, for all branches at once. Nothing here
computes an acceptance probability or a residual: any exact rule passes, and a wrong one shows its true distribution.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np

from mtplx_engine import acceptance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Tokens = tuple[int, ...]
    Distribution = Callable[[Tokens], NDArray[np.float64]]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


_BISECTIONS = 54
_LARGEST = 1 - 2.0**-53  # the largest float64 in [0, 1)


def round_distribution(
    p: Distribution, q: Distribution, vocabulary: int, depth: int, dtype: mx.Dtype = mx.float64
) -> dict[Tokens, float]:
    """Return the probability of each tuple of tokens that one round may emit.

    Args:
        p: Tokens since the start of the round -> the target's distribution of the next one, [V].
        q: The same of the drafter.
        vocabulary: V.
        depth: Draft tokens.
        dtype: What `accept` computes in.
    """
    branches = _Branches(p, q, vocabulary, depth, dtype)
    kept = branches.acceptances()
    distribution: defaultdict[Tokens, float] = defaultdict(float)
    for accepted in range(depth + 1):
        reach = branches.drawn * kept[:, :accepted].prod(axis=1)
        if accepted < depth:
            reach = reach * (1 - kept[:, accepted])
        live = np.flatnonzero(reach > 0)
        if not live.size:
            continue
        for branch, row in zip(live, branches.last_token_distributions(live, kept, accepted), strict=True):
            for token in np.flatnonzero(row):
                emitted = (*branches.drafts[branch, :accepted].tolist(), int(token))
                distribution[emitted] += float(reach[branch] * row[token])
    return dict(distribution)


def joint_distribution(rounds: Callable[[Tokens], dict[Tokens, float]], length: int) -> dict[Tokens, float]:
    """Return the distribution of the first `length` tokens of rounds that follow each other.

    Args:
        rounds: Tokens so far -> the distribution of what the next round emits.
        length: The horizon; what a round emits past it is cut.
    """
    distribution: defaultdict[Tokens, float] = defaultdict(float)
    waiting: defaultdict[Tokens, float] = defaultdict(float, {(): 1.0})
    while waiting:
        context = min(waiting, key=len)  # all that lead to it are done
        mass = waiting.pop(context)
        for emitted, probability in rounds(context).items():
            tokens = (*context, *emitted)[:length]
            (distribution if len(tokens) == length else waiting)[tokens] += mass * probability
    return dict(distribution)


class _Branches:
    """All drafts that a round may draw, with the rows that `accept` gets to judge them."""

    def __init__(self, p: Distribution, q: Distribution, vocabulary: int, depth: int, dtype: mx.Dtype) -> None:
        every = itertools.product(range(vocabulary), repeat=depth)
        chances = {d: float(np.prod([q(d[:i])[d[i]] for i in range(depth)])) for d in every}
        possible = [d for d, chance in chances.items() if chance > 0]
        self.drafts: Ints = np.array(possible, np.int64).reshape(len(possible), depth)
        self.drawn: Floats = np.array([chances[d] for d in possible])
        self._p = np.array([[p(d[:i]) for i in range(depth + 1)] for d in possible])
        self._q = np.array([[q(d[:i]) for i in range(depth)] for d in possible])
        self._q = self._q.reshape(len(possible), depth, vocabulary)
        self._dtype = dtype
        self._accept = mx.vmap(acceptance.accept)

    def acceptances(self) -> Floats:
        """Return the probability [branches, k] that a draft is kept once those before it are; 0 where that is moot."""
        kept = np.zeros(self.drafts.shape)
        for position in range(self.drafts.shape[1]):
            live = np.flatnonzero((kept[:, :position] > 0).all(axis=1))
            if not live.size:
                break
            uniforms = kept[live] / 2  # well inside of what is known to be kept
            ones = np.ones((live.size, self._p.shape[-1]))

            def is_kept(at: Floats, live: Ints = live, uniforms: Floats = uniforms, ones: Floats = ones) -> Bools:
                uniforms[:, position] = at  # noqa: B023 - called before the loop goes on
                return self._judge(live, uniforms, ones)[0] > position  # noqa: B023

            kept[live, position] = _flips(is_kept, live.size)
        return kept

    def last_token_distributions(self, live: Ints, kept: Floats, accepted: int) -> Floats:
        """Return the distributions [len(live), V] of the token after exactly `accepted` drafts, for branches `live`."""
        vocabulary = self._p.shape[-1]
        uniforms = kept[live] / 2
        if accepted < uniforms.shape[1]:
            uniforms[:, accepted] = (1 + kept[live, accepted]) / 2
        counts, heaviest = self._judge(live, uniforms, np.ones((live.size, vocabulary)))
        assert (counts == accepted).all()
        branch, token = np.divmod(np.arange(live.size * vocabulary), vocabulary)

        def wins(at: Floats) -> Bools:
            exponentials = np.full((at.size, vocabulary), np.inf)
            exponentials[np.arange(at.size), heaviest[branch]] = 1 - at
            exponentials[np.arange(at.size), token] = at
            return self._judge(live[branch], uniforms[branch], exponentials)[1] == token

        share = np.where(token == heaviest[branch], 0.5, _flips(wins, token.size))
        weights = (share / (1 - share)).reshape(live.size, vocabulary)
        return weights / weights.sum(axis=1, keepdims=True)

    def _judge(self, branches: Ints, uniforms: Floats, exponentials: Floats) -> tuple[Ints, Ints]:
        """Judge the drafts of `branches` [B] with uniforms [B, k], exponentials [B, V]: accepted [B] and token [B]."""
        with mx.stream(mx.cpu):  # the only device that has float64
            verdict = self._accept(
                mx.array(self._p[branches], self._dtype),
                mx.array(self._q[branches], self._dtype),
                mx.array(self.drafts[branches].astype(np.int32)),
                mx.array(uniforms, self._dtype),
                mx.array(exponentials, self._dtype),
            )
            return np.array(verdict.accepted), np.array(verdict.token)


def _flips(below: Callable[[Floats], Bools], count: int) -> Floats:
    """Return for each of `count` unknowns where in [0, 1] `below` turns from True to False."""
    low, high = np.zeros(count), np.ones(count)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_below = below(middle)
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.where(below(np.full(count, _LARGEST)), 1.0, low)
