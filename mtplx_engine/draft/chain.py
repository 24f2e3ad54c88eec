"""Draft tokens drawn one after another, each from the law of its logits given those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.acceptance import race
from mtplx_engine.draft.drafter import Draft
from mtplx_engine.sampling import draw_exponentials

if TYPE_CHECKING:
    from mtplx_engine.sampling import History, Shaper


class Chain:
    """A draft while it is being drawn.

    Args:
        depth: k, the most tokens that will be drawn.
        shaper: The law to draw from, over the full vocabulary.
        history: What came before; None when the law does not depend on it.
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
        self._law = shaper if ids is None else shaper.restricted(vocabulary, ids)
        self._history = history
        self._keys = None if key is None else mx.random.split(key, depth)
        self._vocabulary = vocabulary
        self._ids = ids
        self._tokens: list[mx.array] = []
        self._laws: list[mx.array] = []

    def draw(self, logits: mx.array) -> mx.array:
        """Draw the next token from logits [1, D]; returns it as [1] int32."""
        adjusted = self._law.adjust(logits, self._history)[0]
        if self._keys is None:
            choice = mx.argmax(adjusted).astype(mx.int32)
        else:
            q = self._law.distribution(adjusted)
            choice = race(q, draw_exponentials(q.shape, self._keys[len(self._tokens)]))
            self._laws.append(self._over_vocabulary(q))
        token = (choice if self._ids is None else self._ids[choice])[None]
        self._history = self._history and self._history.after(token)
        self._tokens.append(token)
        return token

    def draft(self) -> Draft:
        """Return what was drawn, at least one token."""
        return Draft(mx.concatenate(self._tokens), mx.stack(self._laws) if self._laws else None)

    def _over_vocabulary(self, q: mx.array) -> mx.array:
        """Spread a law over the draft vocabulary [D] to [V], zero elsewhere."""
        if self._ids is None:
            return q
        return mx.zeros((self._vocabulary,), q.dtype).at[self._ids].add(q)
