"""A loaded model as the decoding loop sees it: tokens in, hiddens and logits out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import mlx.core as mx
from mlx import nn

if TYPE_CHECKING:
    from typing import Any

    from mtplx_engine.cache import TokenCache


class Family(Protocol):
    """What the engine needs to know of a model family; each family's module offers it."""

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M]; returns [M, H] after the final norm."""
        ...

    def logits(self, model: nn.Module, hidden: mx.array) -> mx.array:
        """Project [M, H] to [M, V]."""
        ...

    def embed(self, model: nn.Module, tokens: mx.array) -> mx.array:
        """Embed tokens [M] as [M, H]."""
        ...


class Target:
    """The target model.

    Args:
        family: How its family is wired.
        model: The mlx-lm model.
        vocabulary: V, the number of logits.

    Attributes:
        model: The mlx-lm model, which plain mlx-lm can run too.
    """

    def __init__(self, family: Family, model: nn.Module, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self._family = family
        self.model = model

    def new_layers(self) -> list[Any]:
        """Make empty mlx-lm caches, one a layer."""
        layers: list[Any] = self.model.make_cache()
        return layers

    def forward(self, tokens: mx.array, cache: TokenCache) -> mx.array:
        """Append tokens [M] to the cache; returns their hiddens [M, H]."""
        return self._family.hidden_states(self.model, tokens, cache.layers)

    def verify(self, tokens: mx.array, cache: TokenCache, *, strict: bool) -> mx.array:
        """Like `forward`; `strict` goes row by row, so that each row has the bits of plain decoding on any kernel."""
        if not strict or tokens.size == 1:
            return self.forward(tokens, cache)
        return mx.concatenate([self.forward(tokens[i : i + 1], cache) for i in range(tokens.size)])

    def logits(self, hidden: mx.array) -> mx.array:
        """Project hiddens [M, H] to logits [M, V]."""
        return self._family.logits(self.model, hidden)

    def embed(self, tokens: mx.array) -> mx.array:
        """Embed tokens [M] as [M, H]."""
        return self._family.embed(self.model, tokens)
