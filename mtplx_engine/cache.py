"""The caches of a model as one thing: how many tokens they hold, and back to fewer.

mlx-lm's internals move between releases; this module is the only one that touches its caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlx_lm.models.cache import KVCache

from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx


class TokenCache:
    """Keys and values of every layer for the tokens that were forwarded.

    A forward of M tokens appends M entries; `trim_to` forgets the newest ones. Entries past the length are stale
    and are overwritten by the next forward.

    Args:
        layers: One mlx-lm cache a layer; only plain KV caches can be rolled back here.

    Raises:
        EngineError: UNSUPPORTED, when a layer needs another kind of cache.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        others = sorted({type(layer).__name__ for layer in layers} - {KVCache.__name__})
        if others:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                f"This model needs a cache that this version cannot roll back ({', '.join(others)}).",
            )
        self.layers: list[Any] = list(layers)

    @property
    def length(self) -> int:
        """How many tokens the cache holds."""
        return int(self.layers[0].offset)

    def trim_to(self, length: int) -> None:
        """Forget all but the oldest `length` tokens.

        Raises:
            ValueError: The cache holds fewer than that.
        """
        surplus = self.length - length
        if surplus < 0 or length < 0:
            raise ValueError(f"the cache holds {self.length} tokens, cannot keep {length}")
        for layer in self.layers:
            layer.trim(surplus)

    def arrays(self) -> list[mx.array]:
        """Return the buffers, to be evaluated; empty before the first forward."""
        return [a for layer in self.layers if layer.keys is not None for a in (layer.keys, layer.values)]

    def contents(self) -> list[mx.array]:
        """Return keys and values of the tokens held, two arrays [1, heads, length, head_dim] a layer."""
        return [a[..., : self.length, :] for a in self.arrays()]
