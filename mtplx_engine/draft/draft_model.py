"""A second, smaller model with the same tokenizer as a drafter (Leviathan et al. 2023; Chen et al. 2023).

It uses the tokens only, not the target's hidden states. Its cache holds a prefix of the committed tokens; the rest is
forwarded before it proposes, and its own draft tokens are trimmed away again, so that the committed ones replace them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import mlx.core as mx

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.draft.mtp_head import Chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.draft.drafter import Draft
    from mtplx_engine.sampling import History, Shaper


_MOST_WAITING = MAX_DEPTH + 1  # tokens that ride along with the first draft step; more are read at once


class Model(Protocol):
    """The model that drafts, as `models.target.Target` offers it."""

    vocabulary: int

    def new_layers(self) -> list[Any]:
        """Return empty caches, one a layer."""

    def forward(self, tokens: mx.array, cache: TokenCache) -> mx.array:
        """Append tokens [M] to the cache; returns their hiddens [M, H]."""

    def logits(self, hidden: mx.array) -> mx.array:
        """Project hiddens [M, H] to logits [M, V]."""


class DraftModelDrafter:
    """Drafts with a second model.

    Args:
        vocabulary: V of the target. Where the two embeddings are padded to different sizes, ids that the draft model
            does not know are never drafted, and are forwarded as its last one.
        chunk: Tokens per forward when a prompt is read.
    """

    max_depth = MAX_DEPTH

    def __init__(self, model: Model, vocabulary: int, chunk: int) -> None:
        self._model = model
        self._chunk = chunk
        self._vocabulary = vocabulary
        self._known = min(vocabulary, model.vocabulary)
        self._ids = None if self._known == vocabulary else mx.arange(self._known, dtype=mx.int32)
        self.cache = TokenCache(model.new_layers())
        self.tokens: list[int] = []

    @property
    def pairs(self) -> int:
        return max(0, len(self.tokens) - 1)

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Start an answer; the tokens of the prompt suffice. See `Drafter.begin`."""
        self._keep(pairs)
        self._add(prompt[len(self.tokens) : pairs + 1])
        return pairs

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:  # noqa: ARG002 - it has hiddens of its own
        self._add(tokens)

    def trim_to(self, pairs: int) -> None:
        self._keep(pairs + 1)

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft:
        """Draft `depth` tokens after the newest one. See `Drafter.propose`."""
        chain = Chain(depth, shaper, history, key, vocabulary=self._vocabulary, ids=self._ids)
        with self.cache.one_block():
            hidden = self._read(len(self.tokens))
            for step in range(depth):
                token = chain.draw(self._model.logits(hidden[-1:])[:, : self._known])
                if step < depth - 1:
                    hidden = self._model.forward(token, self.cache)
        self.cache.trim_to(len(self.tokens))
        return chain.draft()

    def flush(self) -> None:
        """Forward all waiting tokens; the next proposal needs a new token first."""
        if self.cache.length < len(self.tokens):
            self._read(len(self.tokens))

    def _add(self, tokens: Sequence[int]) -> None:
        self.tokens += tokens
        while len(self.tokens) - self.cache.length > _MOST_WAITING:
            newest = len(self.tokens) - 1  # a proposal starts from it
            hidden = self._read(min(self.cache.length + self._chunk, newest))
            mx.eval(hidden, self.cache.arrays())

    def _keep(self, count: int) -> None:
        del self.tokens[count:]
        self.cache.trim_to(self.cache.reachable(max(0, len(self.tokens) - 1)))

    def _read(self, end: int) -> mx.array:
        tokens = [min(token, self._known - 1) for token in self.tokens[self.cache.length : end]]
        return self._model.forward(mx.array(tokens, mx.int32), self.cache)
