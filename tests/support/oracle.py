"""A drafter whose accept counts are chosen by the test, since random heads hardly ever agree with their target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft.drafter import Draft
from mtplx_engine.sampling import Shaper
from tests.support.tiny import DistortedDrafter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.target import Target
    from mtplx_engine.sampling import History


class OracleDrafter:
    """Drafts a given number of tokens of the target's own greedy continuation, and then a wrong token.

    Above temperature 0 it reports false probabilities of its drafts, far too small for the right ones and far too large
    for the wrong one, so that the number is accepted there too. The output then does not follow the target.

    Args:
        target: The target.
        first: The first token of every prompt.
        right: For each proposal, how many of its tokens are right; all of them when that is the depth or more.
        inner: A head that drafts too, whose drafts are ignored: its cache is filled as in a real answer.
    """

    max_depth = 8

    def __init__(self, target: Target, first: int, right: Iterator[int], inner: MTPDrafter) -> None:
        self.inner = inner
        self._right = right
        self._vocabulary = target.vocabulary
        self._guide = DistortedDrafter(target, first, noise=0.0)
        self._greedy = Shaper(SamplerConfig(temperature=0), target.vocabulary)

    @property
    def pairs(self) -> int:
        return self.inner.pairs

    def begin(self, prompt: Sequence[int], reused: int) -> int:
        self._guide.begin(prompt, reused)
        return self.inner.begin(prompt, reused)

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self.inner.extend(hidden, tokens)
        self._guide.extend(hidden, tokens)

    def trim_to(self, pairs: int) -> None:
        self.inner.trim_to(pairs)
        self._guide.trim_to(pairs)

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft:
        self.inner.propose(depth, shaper, history, key)
        best = self._guide.propose(depth, self._greedy, None, None).tokens
        is_wrong = mx.arange(depth) == next(self._right)
        tokens = mx.where(is_wrong, (best + 1) % self._vocabulary, best)
        if key is None:
            return Draft(tokens, None)
        columns = tokens[:, None] == mx.arange(self._vocabulary)
        return Draft(tokens, columns * mx.where(is_wrong, 1e6, 1e-6)[:, None])
