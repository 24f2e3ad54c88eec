"""The beginning of a text, from which decoding starts again and again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import mlx.core as mx
import numpy as np

from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.cache import TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Decoder, non_finite
from mtplx_engine.sampling import Shaper, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.models.target import Target

SHORTEST = 2
"""Tokens; a drafter needs a pair."""

LAW = SamplerConfig(temperature=1.0)
"""The model's own law of the next token, which no filter cuts."""

_GOLDEN = (
    math.sqrt(5) - 1
) / 2  # multiples of it fill the range between 0 and 1 evenly, however many they are


def cuts(count: int, encode: Callable[[str], list[int]], longest: int) -> Iterator[list[int]]:
    """Return beginnings of the shipped prompts, of all kinds in turn, cut at different lengths.

    Args:
        count: How many.
        encode: Turns what a person says into the tokens of a chat.
        longest: Tokens of a beginning.
    """
    for number in range(count):
        ids = encode(PROMPTS[number % len(PROMPTS)].text)
        share = 1 - number * _GOLDEN % 1 / 2
        yield ids[: max(SHORTEST, min(longest, round(share * len(ids))))]


class Comparison(NamedTuple):
    """Verified rows against plain ones.

    Attributes:
        law: [V] float64, the plain law of the next token.
        rows: How many were compared.
        distance: The largest total variation distance of two laws.
        logit_distance: The largest absolute difference of a logit.
        first_choices: Rows whose most probable token was the same.
    """

    law: NDArray[np.float64]
    rows: int
    distance: float
    logit_distance: float
    first_choices: int


class Beginning:
    """A beginning and the caches that hold all of it but its last token, whatever was tried from there.

    Args:
        target: The model.
        drafter: Who drafts for it; empty.
        ids: The tokens, at least `SHORTEST`.
        chunk: Tokens per forward when it is read.
    """

    def __init__(self, target: Target, drafter: Drafter, ids: Sequence[int], chunk: int) -> None:
        self._target = target
        self._drafter = drafter
        self._ids = ids
        self._chunk = chunk
        self._cache = TokenCache(target.new_layers())
        self._newest = mx.array([])  # the hidden [1, H] of the last cached token

    def read(self) -> Iterator[int]:
        """Forward the beginning, by chunks; gives how many of its tokens are cached after each."""
        self._drafter.begin(self._ids, 0)
        *before, newest, _ = self._ids
        yield from self._decoder(0).prefill([*before, newest], 0, self._chunk)
        self._newest = self._target.forward(mx.array([newest], mx.int32), self._cache)
        mx.eval(self._newest)
        self._go_back()

    def compare(self, depth: int, seed: int) -> Comparison:
        """Verify a draft in one forward and token by token, and compare the rows.

        Args:
            depth: Tokens of the draft.
            seed: Of the draws.

        Raises:
            EngineError: NON_FINITE.
        """
        tokens = mx.array([self._ids[-1]], mx.int32)
        draft = None
        if depth := min(depth, self._drafter.max_depth):
            shaper = Shaper(LAW, self._target.vocabulary)
            draft = self._drafter.propose(depth, shaper, None, mx.random.key(seed))
        if draft is not None:
            tokens = mx.concatenate([tokens, draft.tokens])
        _, verified = self._target.verify(tokens, self._cache, strict=False)
        mx.eval(verified)
        self._go_back()
        with self._cache.one_block():
            rows = [self._target.verify(token[None], self._cache, strict=False)[1] for token in tokens]
        plain = mx.concatenate(rows)
        mx.eval(plain)
        self._go_back()
        return self._comparison(verified.astype(mx.float32), plain.astype(mx.float32))

    def draw(self, depth: int, seed: int) -> int:
        """Draw the next token by the decoding loop, drafting so many tokens.

        Raises:
            EngineError: NON_FINITE.
        """
        decoder = self._decoder(seed)
        for _ in decoder.prefill(self._ids, len(self._ids) - 1, self._chunk):
            raise ValueError("the beginning was not read")
        decoder.dispatch(min(depth, decoder.max_depth))
        token = decoder.read().tokens[0]
        self._go_back()
        return token

    def gap(self, more: Sequence[int], one: int, other: int) -> float:
        """Return by how much one token's logit is above another's, plainly, after the beginning and some more tokens.

        Nothing can be tried from the beginning any more.
        """
        tokens = mx.array([self._ids[-1], *more], mx.int32)
        for token in tokens:
            _, logits = self._target.verify(token[None], self._cache, strict=False)
            mx.eval(logits)
        row = logits[0].astype(mx.float32)
        return cast("float", (row[one] - row[other]).item())

    def _decoder(self, seed: int) -> Decoder:
        return Decoder(self._target, self._cache, self._drafter, LAW, seed)

    def _go_back(self) -> None:
        length = len(self._ids) - 1
        self._cache.trim_to(length)
        self._drafter.trim_to(length - 1)
        self._drafter.extend(self._newest, self._ids[-1:])  # a proposal starts from a new pair

    def _comparison(self, verified: mx.array, plain: mx.array) -> Comparison:
        if not (finite(verified) & finite(plain)).item():
            raise non_finite(len(self._ids))
        shaper = Shaper(LAW, self._target.vocabulary)
        one, other = (shaper.distribution(rows) for rows in (verified, plain))
        law = np.array(other[0], np.float64)
        return Comparison(
            law=law / law.sum(),
            rows=verified.shape[0],
            distance=_highest(mx.abs(one - other).sum(axis=-1)) / 2,
            logit_distance=_highest(mx.abs(verified - plain)),
            first_choices=cast("int", (_best(verified) == _best(plain)).sum().item()),
        )


def _highest(values: mx.array) -> float:
    return cast("float", mx.max(values).item())


def _best(rows: mx.array) -> mx.array:
    return mx.argmax(rows, axis=-1)
