"""Keys and values of a sliding window, in order, with room behind the window for a block that is taken back.

mlx-lm's rotating cache overwrites its oldest entries, so that after the first turn nothing can be undone. Here new
entries go to the end of a buffer, and old ones leave when it is full. What attention sees starts at a multiple of
`_GRAIN` and is masked from there to the window: sums over keys then have the same grouping, and so the same bits,
however the tokens were cut into forwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from mtplx_engine import limits

if TYPE_CHECKING:
    from typing import Literal

_GRAIN, _STEP = limits.WINDOW_GRAIN, limits.CACHE_STEP


class WindowCache:
    """A layer that sees the newest `window` tokens, the present one included.

    Attributes:
        offset: How many tokens were read.
        max_size: The window.
    """

    keeps_all = False

    def __init__(self, window: int) -> None:
        self.offset: int = 0
        self.max_size = window
        self._buffers: tuple[mx.array, mx.array] | None = None
        self._start = 0  # the position of the first entry
        self._block: int | None = None  # where the joined block started

    @property
    def floor(self) -> int:
        """The smallest length that `trim` can go back to."""
        return self._start + self.max_size - 1 if self._start else 0

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append [1, heads, M, head_dim]; returns what `make_mask` masks, the window before the first of them too."""
        begin, count = self.offset, keys.shape[2]
        self.offset += count
        buffers = self._with_room(begin, keys, values)
        for buffer, new in zip(buffers, (keys, values), strict=True):
            buffer[:, :, begin - self._start : self.offset - self._start] = new
        self._buffers = buffers
        span = slice(self._first(begin) - self._start, self.offset - self._start)
        return buffers[0][:, :, span], buffers[1][:, :, span]

    def make_mask(
        self, count: int, *, window_size: int | None = None, return_array: bool = False
    ) -> mx.array | Literal["causal"] | None:
        """Return the mask of the next forward, of `count` tokens; a window wider than ours does not widen it."""
        window = min(window_size or self.max_size, self.max_size)
        if self.offset + count > window or (return_array and count > 1):
            mask: mx.array = create_causal_mask(count, self.offset - self._first(self.offset), window)
            return mask
        return "causal" if count > 1 else None

    def begin_block(self) -> None:
        """Keep what is needed to go back to here, up to `end_block`."""
        self._block = self.offset

    def end_block(self) -> None:
        """Let the next forward drop what only this block needed."""
        self._block = None

    def trim(self, surplus: int) -> None:
        """Forget the newest `surplus` tokens; not more than back to `floor`."""
        self.offset -= surplus

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return a copy of the window."""
        return tuple(mx.contiguous(buffer) for buffer in self._held(self._first(self.offset)))

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        """Become what `snapshot` returned at `length`; no arrays are the empty window."""
        self.offset = length
        self._start = self._first(length)
        self._buffers = None
        if arrays:
            self._buffers = _roomy(arrays[0], 0), _roomy(arrays[1], 0)

    def arrays(self) -> list[mx.array]:
        """Return the buffers, to be evaluated; empty before the first forward."""
        return list(self._buffers or ())

    def contents(self) -> list[mx.array]:
        """Return the keys and values [1, heads, n, head_dim] that the next token will see."""
        return self._held(max(0, self.offset - self.max_size + 1))

    def _first(self, length: int) -> int:
        """Return where attention starts for a forward that begins at `length`."""
        return max(0, length - self.max_size + 1) // _GRAIN * _GRAIN

    def _held(self, first: int) -> list[mx.array]:
        span = slice(first - self._start, self.offset - self._start)
        return [buffer[:, :, span] for buffer in self.arrays()]

    def _with_room(self, begin: int, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Return buffers with room for new entries from position `begin` on; new ones drop what no trim needs."""
        count = keys.shape[2]
        if self._buffers is None:
            return _roomy(keys[:, :, :0], count), _roomy(values[:, :, :0], count)
        if begin + count - self._start <= self._buffers[0].shape[2]:
            return self._buffers
        first = self._first(begin if self._block is None else min(begin, self._block))
        span = slice(first - self._start, begin - self._start)
        self._start = first
        return _roomy(self._buffers[0][:, :, span], count), _roomy(self._buffers[1][:, :, span], count)


def _roomy(held: mx.array, count: int) -> mx.array:
    """Return a new buffer that begins with `held` and has room for `count` entries and a step more."""
    room = -(-count // _STEP) * _STEP + _STEP
    shape = (*held.shape[:2], room, held.shape[3])
    return mx.concatenate([held, mx.zeros(shape, held.dtype)], axis=2)
