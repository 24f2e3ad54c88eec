"""mlx-lm's caches that keep every token: going back is a smaller offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mlx.utils import tree_flatten
from mlx_lm.models.cache import KVCache, QuantizedKVCache

if TYPE_CHECKING:
    import mlx.core as mx


class _KeepsAll:
    """What `TokenCache` asks of a layer, over an mlx-lm cache with keys, values and an offset.

    Attributes:
        floor: The smallest length that `trim` can go back to.
    """

    keeps_all = True
    floor = 0
    keys: Any
    values: Any
    offset: int

    def begin_block(self) -> None:
        """Need nothing."""

    def end_block(self) -> None:
        """Need nothing."""

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return nothing: older tokens stay in place."""
        return ()

    def restore(self, _arrays: tuple[mx.array, ...], length: int) -> None:
        """Go back to `length`."""
        self.offset = length

    def arrays(self) -> list[mx.array]:
        """Return the buffers, to be evaluated; empty before the first forward."""
        if self.keys is None:
            return []
        named = cast("list[tuple[str, mx.array]]", tree_flatten((self.keys, self.values)))
        return [array for _, array in named]

    def contents(self) -> list[mx.array]:
        """Return keys and values [1, heads, length, ...] of the tokens held."""
        return [array[..., : self.offset, :] for array in self.arrays()]


class PlainCache(_KeepsAll, KVCache):
    """Keys and values as they are."""


class QuantizedCache(_KeepsAll, QuantizedKVCache):
    """Keys and values packed to a few bits."""
