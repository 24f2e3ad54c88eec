"""V(M): what a forward over M tokens costs, and what a draft token costs, at some lengths of the cache."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Decoder
from mtplx_engine.measurement import VerifyCurve
from mtplx_engine.sampling import Shaper

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from mtplx_engine.cache import TokenCache
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.models.target import Target

WIDEST = 8
_REPEATS = 5
_DRAFTS = 4  # tokens of a timed draft
_GREEDY = SamplerConfig(temperature=0.0)


class CostMeter:
    """Times forwards of a model, and drafts for it.

    Args:
        target: The model.
        cache: Its cache.
        drafter: Holds the pairs of all cached tokens.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        target: Target,
        cache: TokenCache,
        drafter: Drafter,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._target = target
        self._cache = cache
        self._drafter = drafter
        self._clock = clock
        self._shaper = Shaper(_GREEDY, target.vocabulary)

    def read(self, text: Sequence[int], length: int, chunk: int) -> Iterator[int]:
        """Go on reading a text, by forwards of `chunk` tokens, until so many of its tokens are cached.

        Returns:
            An iterator that gives how many are, after each forward; whoever stops iterating ends it there.
        """
        decoder = Decoder(self._target, self._cache, self._drafter, _GREEDY, seed=0)
        return decoder.prefill(text[: length + 1], self._cache.length, chunk)

    def curve(self, tokens: Sequence[int], cancelled: threading.Event) -> VerifyCurve | None:
        """Time forwards over the first 1, 2, ... of 8 tokens, by turns, and leave cache and drafter as they were.

        Args:
            tokens: What follows the cached text.
            cancelled: Ends it soon, with None.
        """
        forwards: list[list[float]] = [[] for _ in range(WIDEST)]
        drafts: list[float] = []
        for repeat in range(_REPEATS + 1):
            for width in range(1, WIDEST + 1):
                if cancelled.is_set():
                    return None
                seconds = self._forward_s(mx.array(list(tokens[:width]), mx.int32))
                if repeat:  # the first round warms up
                    forwards[width - 1].append(seconds)
            draft_s = self._draft_s(*tokens[:2])
            if repeat and draft_s is not None:
                drafts.append(draft_s)
        return VerifyCurve(
            context=self._cache.length,
            seconds=tuple(map(statistics.median, forwards)),
            draft_s=statistics.median(drafts) if drafts else None,
        )

    def _forward_s(self, tokens: mx.array) -> float:
        length = self._cache.length
        mx.eval(tokens)
        started = self._clock()
        _hidden, logits = self._target.verify(tokens, self._cache, strict=False)
        mx.eval(logits)
        seconds = self._clock() - started
        self._cache.trim_to(length)
        return seconds

    def _draft_s(self, token: int, following: int) -> float | None:
        """Return the seconds of a draft token after two others; None where the drafter has nothing to propose."""
        length, pairs = self._cache.length, self._drafter.pairs
        hidden, _logits = self._target.verify(mx.array([token], mx.int32), self._cache, strict=False)
        mx.eval(hidden)
        self._drafter.extend(hidden, [following])
        started = self._clock()
        draft = self._drafter.propose(_DRAFTS, self._shaper, None, None) if self._drafter.max_depth else None
        if draft is not None:
            mx.eval(draft.tokens)
        seconds = self._clock() - started
        self._drafter.trim_to(pairs)
        self._cache.trim_to(length)
        return None if draft is None else seconds / draft.tokens.size
