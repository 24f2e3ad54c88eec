"""Caches that keep every token: going back is a smaller offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mlx.utils import tree_flatten
from mlx_lm.models.cache import KVCache, QuantizedKVCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx


class _KeepsAll:
    """What `TokenCache` asks of a layer that can always go back to any length.

    Attributes:
        floor: The smallest length that `trim` can go back to.
    """

    keeps_all = True
    floor = 0

    def begin_block(self) -> None:
        """Need nothing."""

    def end_block(self) -> None:
        """Need nothing."""

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return nothing: older tokens stay in place."""
        return ()


class _KeysValues(_KeepsAll):
    """The rest of it, over an mlx-lm cache with keys, values and an offset."""

    keys: Any
    values: Any
    offset: int

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


class PlainCache(_KeysValues, KVCache):
    """Keys and values as they are."""


class QuantizedCache(_KeysValues, QuantizedKVCache):
    """Keys and values packed to a few bits."""


class CacheGroup(_KeepsAll):
    """Several caches of one layer, as in mlx-lm's `CacheList`: all of them keep every token.

    Args:
        parts: One cache each.
    """

    def __init__(self, parts: Sequence[PlainCache | QuantizedCache]) -> None:
        self._parts = tuple(parts)

    def __getitem__(self, index: int) -> PlainCache | QuantizedCache:
        return self._parts[index]

    @property
    def offset(self) -> int:
        """How many tokens were read."""
        return self._parts[0].offset

    def trim(self, surplus: int) -> None:
        """Forget the newest `surplus` tokens."""
        for part in self._parts:
            part.trim(surplus)

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        """Go back to `length`."""
        for part in self._parts:
            part.restore(arrays, length)

    def arrays(self) -> list[mx.array]:
        """Return the buffers, to be evaluated; empty before the first forward."""
        return [array for part in self._parts for array in part.arrays()]

    def contents(self) -> list[mx.array]:
        """Return the keys and values of all parts, of the tokens held."""
        return [array for part in self._parts for array in part.contents()]
