"""Draft with the target's own multi-token-prediction (MTP) head, chained for several tokens.

The head predicts token t+2 from the target's hidden state of token t and the embedding of token t+1, as in DeepSeek-V3
(arXiv 2412.19437), section 2.2; for further tokens it is fed its own hidden states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mtplx_engine.acceptance import race
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.draft.drafter import Draft
from mtplx_engine.sampling import draw_exponentials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.sampling import History, Shaper


class Chain:
    """Builds a `Draft` token by token: shapes the logits of each step and draws from them.

    Args:
        depth: k, the most tokens that will be drawn.
        shaper: Gives the distribution to draw from, over the full vocabulary.
        history: The tokens before; None when the distribution does not depend on them.
        key: Random key, or None to take the most probable token each time.
        vocabulary: V.
        ids: [D] the token ids behind the columns of the logits, sorted; None when they are the whole vocabulary.
    """

    def __init__(
        self,
        depth: int,
        shaper: Shaper,
        history: History | None,
        key: mx.array | None,
        *,
        vocabulary: int,
        ids: mx.array | None,
    ) -> None:
        self._shaper = shaper if ids is None else shaper.restricted(vocabulary, ids)
        self._history = history
        self._keys = None if key is None else mx.random.split(key, depth)
        self._vocabulary = vocabulary
        self._ids = ids
        self._tokens: list[mx.array] = []
        self._laws: list[mx.array] = []

    def draw(self, logits: mx.array) -> mx.array:
        """Draw the next token from logits [1, D]; returns it as [1] int32."""
        adjusted = self._shaper.adjust(logits, self._history)[0]
        if self._keys is None:
            choice = mx.argmax(adjusted).astype(mx.int32)
        else:
            q = self._shaper.distribution(adjusted)
            choice = race(q, draw_exponentials(q.shape, self._keys[len(self._tokens)]))
            self._laws.append(self._over_vocabulary(q))
        token = (choice if self._ids is None else self._ids[choice])[None]
        self._history = self._history and self._history.after(token)
        self._tokens.append(token)
        return token

    def draft(self) -> Draft:
        return Draft(mx.concatenate(self._tokens), mx.stack(self._laws) if self._laws else None)

    def _over_vocabulary(self, q: mx.array) -> mx.array:
        """Spread a distribution over the draft vocabulary [D] to [V], zero elsewhere."""
        if self._ids is None:
            return q
        return mx.zeros((self._vocabulary,), q.dtype).at[self._ids].add(q)


# Pairs wait until the next proposal, where they ride along with the first draft step; more than this are written
# to the head's cache at once.
_MOST_WAITING = MAX_DEPTH + 1


class Head(Protocol):
    """An MTP head as its model family builds it."""

    def inputs(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """Join embeddings of the tokens t+1 and hiddens of t, both [m, H], into block inputs [1, m, H]."""

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns the hiddens [m, H] that the next step takes."""

    def readout(self, hidden: mx.array) -> mx.array:
        """Turn hiddens [m, H] of `__call__` into the input of the LM head."""

    def remember(self, inputs: mx.array, cache: Any) -> None:
        """Write only keys and values of inputs [1, m, H] to the cache, without an output."""


class MTPDrafter:
    """Drafts with an MTP head, chaining its own output for the second and later positions.

    Args:
        embed: The target's embedding, tokens [m] -> [m, H].
        project: Turns hiddens [m, H] into logits [m, D] of the tokens that the drafter may choose from.
        ids: [D] their token ids, sorted; None when they are the whole vocabulary.
        vocabulary: V.
    """

    max_depth = MAX_DEPTH

    def __init__(
        self,
        head: Head,
        embed: Callable[[mx.array], mx.array],
        project: Callable[[mx.array], mx.array],
        ids: mx.array | None,
        vocabulary: int,
    ) -> None:
        self._head = head
        self._embed = embed
        self._project = project
        self._ids = ids
        self._vocabulary = vocabulary
        self.cache = TokenCache([KVCache()])
        self._hidden: list[mx.array] = []
        self._tokens: list[mx.array] = []

    @property
    def pairs(self) -> int:
        """How many true pairs are held, written to the cache or waiting."""
        return self.cache.length + self._waiting

    @property
    def _waiting(self) -> int:
        return sum(tokens.size for tokens in self._tokens)

    def begin(self, prompt: Sequence[int], pairs: int) -> int:  # noqa: ARG002 - it cannot do without hiddens
        """Start an answer with the pairs that are held. See `Drafter.begin`."""
        self.trim_to(min(pairs, self.pairs))
        return self.pairs

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self._hidden.append(hidden)
        self._tokens.append(mx.array(list(tokens), mx.int32))
        if self._waiting > _MOST_WAITING:
            rows, ids = self._take_waiting()
            self._hidden, self._tokens = [rows[-1:]], [ids[-1:]]  # a proposal starts from the newest pair
            self._head.remember(self._head.inputs(self._embed(ids[:-1]), rows[:-1]), self.cache.layers[0])

    def flush(self) -> None:
        """Write all waiting pairs to the cache; the next proposal needs a new pair first."""
        if self._tokens:
            rows, ids = self._take_waiting()
            self._head.remember(self._head.inputs(self._embed(ids), rows), self.cache.layers[0])

    def trim_to(self, pairs: int) -> None:
        if self._tokens:
            rows, ids = self._take_waiting()
            keep = max(0, pairs - self.cache.length)
            if keep:
                self._hidden, self._tokens = [rows[:keep]], [ids[:keep]]
        self.cache.trim_to(min(pairs, self.cache.length))

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft:
        """Draft `depth` tokens after the last pair; see `Drafter.propose`. Raises ValueError when no pair waits."""
        if not self._tokens:
            raise ValueError("a proposal starts from a pair that is not yet written")
        hidden, last = self._take_waiting()
        true_pairs = self.cache.length + last.size
        chain = Chain(depth, shaper, history, key, vocabulary=self._vocabulary, ids=self._ids)
        for _ in range(depth):
            hidden = self._head(self._head.inputs(self._embed(last), hidden), self.cache.layers[0])[-1:]
            last = chain.draw(self._project(self._head.readout(hidden)))
        self.cache.trim_to(true_pairs)
        return chain.draft()

    def _take_waiting(self) -> tuple[mx.array, mx.array]:
        rows, ids = mx.concatenate(self._hidden), mx.concatenate(self._tokens)
        self._hidden, self._tokens = [], []
        return rows, ids
