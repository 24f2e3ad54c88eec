"""The cache of a whole model: how many tokens it holds, rollback to fewer, and checkpoints to return to.

mlx-lm's internals move between releases; this package is the only one that touches its caches.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, QuantizedKVCache, RotatingKVCache

from mtplx_engine.cache.layers import (
    CacheGroup,
    PlainCache,
    QuantizedCache,
    RecurrentState,
    StepState,
    WindowCache,
)
from mtplx_engine.config import MOST_CHECKPOINT_BYTES, MOST_CHECKPOINTS
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Layer(Protocol):
    """A layer's cache as `TokenCache` needs it; towards the model it has the interface that mlx-lm's layers expect.

    Attributes:
        keeps_all: Whether `floor` is always 0.
    """

    keeps_all: bool

    @property
    def offset(self) -> int:
        """How many tokens went into it."""

    @property
    def floor(self) -> int:
        """The smallest length that `trim` can go back to."""

    def begin_block(self) -> None:
        """Make the forwards up to `end_block` one block: `trim` can go back to before the first."""

    def end_block(self) -> None:
        """End the block."""

    def trim(self, surplus: int) -> object:
        """Drop the newest `surplus` tokens; not more than back to `floor`."""

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return the arrays that `restore` needs; nothing ever writes into them."""

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        """Set the state to a `snapshot` taken at `length`; no arrays are the empty state."""

    def arrays(self) -> list[mx.array]:
        """Return the live arrays."""

    def contents(self) -> list[mx.array]:
        """Return the part of the arrays that the tokens held fill, free of stale entries."""


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """The state at a length: a snapshot a layer, and the hidden [1, H] of the last token."""

    length: int
    layers: tuple[tuple[mx.array, ...], ...]
    hidden: mx.array

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for layer in self.layers for array in layer)


class TokenCache:
    """The caches of all layers of a model, which hold the same tokens.

    A forward of M tokens appends M entries; `trim_to` drops the newest ones. Layers that keep everything go back to
    any length. The others go back inside the last block, that is the last forward or those that `one_block` joined,
    and to checkpoints; with a `StepState` only a forward of one token can be taken back.

    Args:
        layers: One empty cache a layer: mlx-lm's plain, quantized or rotating one, a list of the first two, its
            arrays (`StepState` takes their place), or `RecurrentState` for a gated-delta layer.
        most_bytes: How much all checkpoints may hold together.

    Raises:
        EngineError: UNSUPPORTED, when a layer needs another kind of cache.
    """

    def __init__(
        self,
        layers: Sequence[Any],
        *,
        most_checkpoints: int = MOST_CHECKPOINTS,
        most_bytes: int = MOST_CHECKPOINT_BYTES,
    ) -> None:
        self.layers: list[Layer] = [_ours(layer) for layer in layers]
        self._most_checkpoints = most_checkpoints
        self._most_bytes = most_bytes
        self._checkpoints: list[_Checkpoint] = []

    @property
    def length(self) -> int:
        return self.layers[0].offset

    def trim_to(self, length: int) -> None:
        """Drop all but the oldest `length` tokens, and the checkpoints past them.

        Raises:
            ValueError: The cache holds fewer than that, or cannot go back to just there.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"the cache holds {self.length} tokens, cannot keep {length}")
        self._checkpoints = [point for point in self._checkpoints if point.length <= length]
        surplus = self.length - length
        if length >= self._floor:
            for layer in self.layers:
                layer.trim(surplus)
            return
        point = self._at(length)
        if point is None and length:
            raise ValueError(f"the cache cannot go back from {self.length} tokens to {length}")
        for index, layer in enumerate(self.layers):
            layer.restore(point.layers[index] if point else (), length)

    def reachable(self, length: int) -> int:
        """Return the largest length of at most `length` tokens that `trim_to` can go to."""
        length = min(length, self.length)
        if length >= self._floor:
            return length
        return max((point.length for point in self._checkpoints if point.length <= length), default=0)

    def checkpoint(self, hidden: mx.array) -> None:
        """Make the present length one that `trim_to` can go to later on; `hidden` is [1, H] of the last token.

        Over the bounds, the checkpoint is dropped whose loss costs the fewest tokens to forward again.
        """
        if all(layer.keeps_all for layer in self.layers):
            return
        layers = tuple(layer.snapshot() for layer in self.layers)
        point = _Checkpoint(self.length, layers, mx.contiguous(hidden))  # a slice would keep all of its block
        mx.eval(point.hidden, layers)
        self._checkpoints = [*(other for other in self._checkpoints if other.length != point.length), point]
        self._checkpoints.sort(key=lambda other: other.length)
        while len(self._checkpoints) > self._most_checkpoints or self._bytes() > self._most_bytes:
            self._drop_one()

    def hidden_at(self, length: int) -> mx.array | None:
        """Return the hidden [1, H] of token `length` - 1 from a checkpoint there, None without one."""
        point = self._at(length)
        return point.hidden if point else None

    @contextlib.contextmanager
    def one_block(self) -> Iterator[None]:
        """Join all forwards inside into one block, so that `trim_to` can go back to before the first."""
        for layer in self.layers:
            layer.begin_block()
        try:
            yield
        finally:
            for layer in self.layers:
                layer.end_block()

    def arrays(self) -> list[mx.array]:
        """Return the live arrays, to be evaluated; empty before the first forward."""
        return [array for layer in self.layers for array in layer.arrays()]

    def contents(self) -> list[mx.array]:
        """Return the entries of the tokens held, layer by layer: for plain layers keys and values."""
        return [array for layer in self.layers for array in layer.contents()]

    @property
    def _floor(self) -> int:
        return max(layer.floor for layer in self.layers)

    def _at(self, length: int) -> _Checkpoint | None:
        return next((point for point in self._checkpoints if point.length == length), None)

    def _bytes(self) -> int:
        return sum(point.nbytes for point in self._checkpoints)

    def _drop_one(self) -> None:
        lengths = [0, *(point.length for point in self._checkpoints)]
        gaps = [here - before for before, here in itertools.pairwise(lengths)]
        del self._checkpoints[gaps.index(min(gaps))]


def _ours(layer: Any) -> Layer:
    if type(layer) is KVCache:
        return PlainCache()
    if type(layer) is QuantizedKVCache:
        return QuantizedCache(layer.group_size, layer.bits)
    if type(layer) is RotatingKVCache and not layer.keep:
        return WindowCache(layer.max_size)
    if type(layer) is ArraysCache:
        return StepState(len(layer.cache))
    if type(layer) is CacheList:
        kept = [part for part in map(_ours, layer.caches) if isinstance(part, PlainCache | QuantizedCache)]
        if len(kept) == len(layer.caches):
            return CacheGroup(kept)
    if isinstance(layer, PlainCache | QuantizedCache | CacheGroup | RecurrentState | StepState | WindowCache):
        return layer
    raise EngineError(
        ErrorKind.UNSUPPORTED,
        f"This model needs a cache that this version cannot roll back ({type(layer).__name__}).",
    )
