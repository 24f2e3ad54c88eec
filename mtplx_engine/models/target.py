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
        width_multiple: Verify steps are this many rows wide, or a multiple; 1 leaves them as they are.

    Attributes:
        model: The mlx-lm model, which plain mlx-lm can run too.
    """

    def __init__(self, family: Family, model: nn.Module, vocabulary: int, width_multiple: int = 1) -> None:
        self.vocabulary = vocabulary
        self._width_multiple = width_multiple
        self._family = family
        self.model = model

    def new_layers(self) -> list[Any]:
        """Make empty mlx-lm caches, one a layer."""
        layers: list[Any] = self.model.make_cache()
        return layers

    def forward(self, tokens: mx.array, cache: TokenCache) -> mx.array:
        """Append tokens [M] to the cache; returns their hiddens [M, H]."""
        return self._family.hidden_states(self.model, tokens, cache.layers)

    def verify(self, tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
        """Append tokens [M] to the cache; returns their hiddens [M, H] and logits [M, V].

        `strict` goes row by row, so that each row has the bits of plain decoding on any kernel. Otherwise widths
        that this machine's kernels are slow at are filled up with rows that are forgotten again.
        """
        count = tokens.size
        if strict and count > 1:
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
        """Project hiddens [M, H] to logits [M, V]."""
        return self._family.logits(self.model, hidden)

    def embed(self, tokens: mx.array) -> mx.array:
        """Embed tokens [M] as [M, H]."""
        return self._family.embed(self.model, tokens)
