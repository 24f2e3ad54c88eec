"""The target model as the decoding loop uses it: tokens in, hiddens and logits out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
from mlx import nn
from mlx_lm.models.cache import make_prompt_cache

from mtplx_engine.models.gated_delta import with_states
from mtplx_engine.models.manifest import Hidden

if TYPE_CHECKING:
    from typing import Any

    from mtplx_engine.cache.token_cache import TokenCache
    from mtplx_engine.models.families.family import EmbeddingAndHead, Projection, Trunk


class Target:
    """The target model.

    Args:
        family: Its family.
        model: The mlx-lm model, which mlx-lm itself can run too.
        vocabulary: V, the number of logits.
        width_multiple: Verify steps are this many rows wide, or a multiple; 1 leaves them as they are.
        hidden: Which hiddens it returns: those that its drafting head reads.
    """

    def __init__(
        self,
        family: Trunk,
        model: nn.Module,
        vocabulary: int,
        width_multiple: int = 1,
        hidden: Hidden = Hidden.AFTER_NORM,
    ) -> None:
        self.vocabulary = vocabulary
        self._width_multiple = width_multiple
        self._family = family
        self._hidden = hidden
        self.model = model

    @property
    def _ends(self) -> EmbeddingAndHead:
        return self._family.ends(self.model)

    def new_layers(self) -> list[Any]:
        """Make empty caches, one a layer, for a `TokenCache`."""
        return with_states(self.model, make_prompt_cache(self.model))

    def forward(self, tokens: mx.array, cache: TokenCache) -> mx.array:
        """Append tokens [M] to the cache; returns their hiddens [M, H]."""
        hidden = self._family.hidden_states(self.model, tokens, cache.layers)
        return self._normed(hidden) if self._hidden is Hidden.AFTER_NORM else hidden

    def verify(self, tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
        """Append tokens [M] to the cache; returns their hiddens [M, H] and logits [M, V].

        `strict` goes row by row, so that each row has the bits of plain decoding on any kernel. Otherwise widths
        that this machine's kernels are slow at are padded with rows that are trimmed again.
        """
        count = tokens.size
        if strict and count > 1:
            with cache.one_block():
                hidden = mx.concatenate([self.forward(tokens[i : i + 1], cache) for i in range(count)])
            rows = [self.logits(hidden[i : i + 1]) for i in range(count)]
            return hidden, mx.concatenate(rows)
        surplus = -count % self._width_multiple if count > 1 else 0
        if surplus:
            tokens = mx.concatenate([tokens, mx.repeat(tokens[-1:], surplus)])
        hidden = self.forward(tokens, cache)
        logits = self.logits(hidden)
        if surplus:
            cache.trim_to(cache.length - surplus)
        return hidden[:count], logits[:count]

    def logits(self, hidden: mx.array) -> mx.array:
        """Project hiddens [M, H], as `forward` returned them, to logits [M, V]."""
        return self._ends.logits(hidden if self._hidden is Hidden.AFTER_NORM else self._normed(hidden))

    def embed(self, tokens: mx.array) -> mx.array:
        """Embed tokens [M] as [M, H]."""
        vectors: mx.array = self._ends.embedding(tokens)
        return vectors

    def projection(self, ids: mx.array | None) -> Projection:
        """Return the output head, without the final norm, for the sorted token ids [D] alone or for all of them."""
        return self._ends.projection(ids)

    def _normed(self, hidden: mx.array) -> mx.array:
        normed: mx.array = self._ends.norm(hidden)
        return normed
