"""Prompt lookup: a drafter that copies the tokens after the last earlier occurrence of the newest ones.

As prompt lookup decoding (Saxena 2023), with an index instead of a search. Its draft is determined by the context, so
its distribution q is a point mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.draft.drafter import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.sampling import History, Shaper


MATCH = 8  # tokens that must agree; shorter matches are mostly chance


class SuffixIndex:
    """A sequence of tokens that finds the last earlier occurrence of its newest `MATCH` tokens; O(1) a token."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._newest: dict[int, int] = {}  # hash of `MATCH` tokens -> length of the sequence that ended with them
        self._earlier: list[int] = []  # for each length, the entry of `_newest` that it replaced, or 0

    def append(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.tokens.append(token)
            length = len(self.tokens)
            if length < MATCH:
                self._earlier.append(0)
                continue
            key = self._key(length)
            self._earlier.append(self._newest.get(key, 0))
            self._newest[key] = length

    def trim_to(self, length: int) -> None:
        while len(self.tokens) > length:
            earlier = self._earlier.pop()
            if len(self.tokens) >= MATCH:
                key = self._key(len(self.tokens))
                if earlier:
                    self._newest[key] = earlier
                else:
                    del self._newest[key]
            self.tokens.pop()

    def match(self) -> int:
        """Return the length of the longest proper prefix that ends with the same `MATCH` tokens, 0 without one."""
        at = self._earlier[-1] if self._earlier else 0
        return at if at and self.tokens[at - MATCH : at] == self.tokens[-MATCH:] else 0

    def _key(self, length: int) -> int:
        return hash(tuple(self.tokens[length - MATCH : length]))


class PromptLookupDrafter:
    """Drafts the tokens after the newest earlier match; past the end of the sequence it goes on with its own copies."""

    def __init__(self, vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._index = SuffixIndex()

    @property
    def max_depth(self) -> int:
        """`MAX_DEPTH` while there is a match, else 0."""
        return MAX_DEPTH if self._index.match() else 0

    @property
    def pairs(self) -> int:
        return max(0, len(self._index.tokens) - 1)

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Start an answer; the tokens of the prompt suffice. See `Drafter.begin`."""
        self._index.trim_to(pairs)
        self._index.append(prompt[len(self._index.tokens) : pairs + 1])
        return pairs

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:  # noqa: ARG002 - copies need no hiddens
        self._index.append(tokens)

    def trim_to(self, pairs: int) -> None:
        self._index.trim_to(pairs + 1)

    def propose(
        self,
        depth: int,
        shaper: Shaper,  # noqa: ARG002 - a copy is not sampled
        history: History | None,  # noqa: ARG002
        key: mx.array | None,
    ) -> Draft | None:
        """Copy `depth` tokens, or return None without a match. See `Drafter.propose`."""
        at = self._index.match()
        if not at:
            return None
        known = self._index.tokens
        period = len(known) - at
        tokens = mx.array([known[at + step % period] for step in range(depth)], mx.int32)
        if key is None:
            return Draft(tokens, None)
        return Draft(tokens, (tokens[:, None] == mx.arange(self._vocabulary)).astype(mx.float32))
