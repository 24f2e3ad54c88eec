"""The cache of each kind of layer, with rollback: keys and values, sliding window, recurrent states.

Each has mlx-lm's interface towards the model and `token_cache.Layer` towards `TokenCache`. Keys and values go back to
any length. A window goes back inside the last block of forwards. A gated-delta state keeps a tape of the inputs of the
last block and replays it; other recurrent states can only take back a single step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models.base import create_causal_mask
from mlx_lm.models.cache import KVCache, QuantizedKVCache
from mlx_lm.models.gated_delta import gated_delta_kernel, gated_delta_ops

from mtplx_engine.config import CACHE_STEP, WINDOW_GRAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal


class LayerState:
    """The arrays of a recurrent layer, with the interface of mlx-lm's `ArraysCache`.

    `offset` counts the tokens that went into the state; `lengths` is always None: mlx-lm's layers read it for batches.
    """

    keeps_all = False

    def __init__(self, size: int) -> None:
        self.offset: int = 0
        self.lengths = None
        self._now: list[mx.array | None] = [None] * size

    def __getitem__(self, index: int) -> mx.array | None:
        return self._now[index]

    def __setitem__(self, index: int, value: mx.array) -> None:
        self._now[index] = value

    def make_mask(self, _count: int) -> None:
        """Return the mask of a forward: none, there is no padding."""

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return the present arrays, by reference unless they are slices: nothing ever writes into them."""
        return tuple(mx.contiguous(array) for array in self.arrays())

    def arrays(self) -> list[mx.array]:
        return [array for array in self._now if array is not None]

    def contents(self) -> list[mx.array]:
        return self.arrays()

    def _become(self, arrays: Sequence[mx.array | None], length: int) -> None:
        self._now = list(arrays) or [None] * len(self._now)
        self.offset = length


class StepState(LayerState):
    """A recurrent state that can take back the newest single step only, which plain decoding queues ahead.

    The state before that step is kept by reference. Nothing else can be undone, so nothing may draft for a model
    with such layers; only the checkpoints of `TokenCache` lead back over more than a step.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._held = tuple(self._now)
        self._before: tuple[mx.array | None, ...] | None = None

    @property
    def floor(self) -> int:
        return self.offset - (self._before is not None)

    def advance(self, count: int) -> None:
        """Note that a forward of `count` tokens is over."""
        self._before = self._held if count == 1 else None
        self._held = tuple(self._now)
        self.offset += count

    def begin_block(self) -> None:
        """Do nothing: there are no blocks to take back."""

    def end_block(self) -> None:
        """Do nothing."""

    def trim(self, surplus: int) -> None:
        if surplus and self._before is not None:
            self.restore(self._before, self.offset - 1)

    def restore(self, arrays: Sequence[mx.array | None], length: int) -> None:
        self._become(arrays, length)
        self._held, self._before = tuple(self._now), None


class _KeepsAll:
    """The part of `token_cache.Layer` that is the same for all layers that can go back to any length."""

    keeps_all = True
    floor = 0

    def begin_block(self) -> None: ...

    def end_block(self) -> None: ...

    def snapshot(self) -> tuple[mx.array, ...]:
        return ()


class _KeysValues(_KeepsAll):
    """The rest of `token_cache.Layer`, over an mlx-lm cache with keys, values and an offset."""

    keys: Any
    values: Any
    offset: int

    def restore(self, _arrays: tuple[mx.array, ...], length: int) -> None:
        self.offset = length

    def arrays(self) -> list[mx.array]:
        if self.keys is None:
            return []
        named = cast("list[tuple[str, mx.array]]", tree_flatten((self.keys, self.values)))
        return [array for _, array in named]

    def contents(self) -> list[mx.array]:
        return [array[..., : self.offset, :] for array in self.arrays()]


class PlainCache(_KeysValues, KVCache):
    """Keys and values, unquantized."""


class QuantizedCache(_KeysValues, QuantizedKVCache):
    """Keys and values, quantized."""


class CacheGroup(_KeepsAll):
    """Several caches of one layer, as mlx-lm's `CacheList`; all of them keep every token."""

    def __init__(self, parts: Sequence[PlainCache | QuantizedCache]) -> None:
        self._parts = tuple(parts)

    def __getitem__(self, index: int) -> PlainCache | QuantizedCache:
        return self._parts[index]

    @property
    def offset(self) -> int:
        return self._parts[0].offset

    def trim(self, surplus: int) -> None:
        for part in self._parts:
            part.trim(surplus)

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        for part in self._parts:
            part.restore(arrays, length)

    def arrays(self) -> list[mx.array]:
        return [array for part in self._parts for array in part.arrays()]

    def contents(self) -> list[mx.array]:
        return [array for part in self._parts for array in part.contents()]


_GRAIN, _STEP = WINDOW_GRAIN, CACHE_STEP


class WindowCache:
    """Keys and values of a layer that attends to the newest `max_size` tokens, the present one included."""

    keeps_all = False

    def __init__(self, window: int) -> None:
        self.offset: int = 0
        self.max_size = window
        self._buffers: tuple[mx.array, mx.array] | None = None
        self._start = 0  # the position of the first buffer entry
        self._block: int | None = None  # the position where the present block started

    @property
    def floor(self) -> int:
        return self._start + self.max_size - 1 if self._start else 0

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append M entries [1, heads, M, head_dim]; returns them and the window before, as `make_mask` masks them."""
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
        """Return the mask of the next forward, of `count` tokens; `window_size` can only narrow the window."""
        window = min(window_size or self.max_size, self.max_size)
        if self.offset + count > window or (return_array and count > 1):
            mask: mx.array = create_causal_mask(count, self.offset - self._first(self.offset), window)
            return mask
        return "causal" if count > 1 else None

    def begin_block(self) -> None:
        """Keep the entries needed to trim back to here, up to `end_block`."""
        self._block = self.offset

    def end_block(self) -> None:
        self._block = None

    def trim(self, surplus: int) -> None:
        self.offset -= surplus

    def snapshot(self) -> tuple[mx.array, ...]:
        return tuple(mx.contiguous(buffer) for buffer in self._held(self._first(self.offset)))

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        self.offset = length
        self._start = self._first(length)
        self._buffers = None
        if arrays:
            self._buffers = _roomy(arrays[0], 0), _roomy(arrays[1], 0)

    def arrays(self) -> list[mx.array]:
        return list(self._buffers or ())

    def contents(self) -> list[mx.array]:
        """Return the keys and values [1, heads, n, head_dim] that the next token will see."""
        return self._held(max(0, self.offset - self.max_size + 1))

    def _first(self, length: int) -> int:
        return max(0, length - self.max_size + 1) // _GRAIN * _GRAIN

    def _held(self, first: int) -> list[mx.array]:
        span = slice(first - self._start, self.offset - self._start)
        return [buffer[:, :, span] for buffer in self.arrays()]

    def _with_room(self, begin: int, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Return buffers with room for new entries from position `begin` on; new buffers drop what no trim needs."""
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
    """Return a new buffer that starts with `held` and has room for `count` entries and a step more."""
    room = -(-count // _STEP) * _STEP + _STEP
    shape = (*held.shape[:2], room, held.shape[3])
    return mx.concatenate([held, mx.zeros(shape, held.dtype)], axis=2)


LONGEST_TAPE = 64  # steps; longer forwards prefill a prompt, of which nothing is rejected


class DeltaSteps(NamedTuple):
    """Inputs of T steps of a gated-delta layer's recurrence.

    Attributes:
        conv_input: [1, K-1+T, C] input of the convolution; the first K-1 rows are the tail before the steps.
        k: [1, T, Hk, Dk] keys, normalised.
        v: [1, T, Hv, Dv] values.
        g: [1, T, Hv] decay, float32.
        beta: [1, T, Hv] writing strength.
    """

    conv_input: mx.array
    k: mx.array
    v: mx.array
    g: mx.array
    beta: mx.array

    @property
    def length(self) -> int:
        return int(self.k.shape[1])

    @property
    def tail(self) -> mx.array:
        """The convolution's tail [1, K-1, C] after the steps."""
        return mx.contiguous(self.conv_input[:, self.length :])

    def first(self, length: int) -> DeltaSteps:
        """Return the first `length` steps."""
        if length == self.length:
            return self
        rows = self.conv_input.shape[1] - self.length + length
        return DeltaSteps(self.conv_input[:, :rows], *(array[:, :length] for array in self[1:]))


def delta_rule(q: mx.array, steps: DeltaSteps, state: mx.array | None) -> tuple[mx.array, mx.array]:
    """Run the gated delta rule (Yang et al. 2024, arXiv 2412.06464) over T steps, on Metal by mlx-lm's kernel.

    Args:
        q: [1, T, Hk, Dk] queries, normalised and scaled; the state does not depend on them.
        steps: The other inputs.
        state: [1, Hv, Dv, Dk] float32, None for zeros.

    Returns:
        Outputs [1, T, Hv, Dv] and the new state.
    """
    _, k, v, g, beta = steps
    width = k.shape[-1]
    if state is None:
        state = mx.zeros((v.shape[0], *v.shape[2:], width), mx.float32)
    has_kernel = mx.default_device() == mx.gpu and mx.metal.is_available() and width % 32 == 0
    run = gated_delta_kernel if has_kernel else gated_delta_ops
    out, state = run(q, k, v, g, beta, state)
    return out, state


class RecurrentState(LayerState):
    """Convolution tail [1, K-1, C] and state [1, Hv, Dv, Dk] of one gated-delta layer, with a tape to roll back."""

    def __init__(self) -> None:
        super().__init__(2)
        self.floor: int = 0
        self._base = (self._now[0], self._now[1])
        self._tape: list[DeltaSteps] = []
        self._in_block = False

    def record(self, steps: DeltaSteps) -> None:
        """Put the inputs of a forward on the tape; called before its results are set."""
        if not self._in_block:
            self._start_tape()
        if steps.length <= LONGEST_TAPE:
            self._tape.append(steps)

    def advance(self, count: int) -> None:
        """Note that a forward of `count` tokens is over; without a tape of it `trim` cannot go back before it."""
        self.offset += count
        if self.floor + sum(steps.length for steps in self._tape) != self.offset:
            self._start_tape()

    def begin_block(self) -> None:
        self._start_tape()
        self._in_block = True

    def end_block(self) -> None:
        self._in_block = False

    def trim(self, surplus: int) -> None:
        if not surplus:
            return
        left = self.offset - surplus - self.floor
        self.offset -= surplus
        tape, self._tape = self._tape, []
        tail, state = self._base
        for steps in tape:
            kept = steps.first(min(left, steps.length))
            if not kept.length:
                break
            _, state = delta_rule(kept.k, kept, state)
            tail = kept.tail
            self._tape.append(kept)
            left -= kept.length
        self._now = [tail, state]

    def restore(self, arrays: tuple[mx.array, ...], length: int) -> None:
        self._become(arrays, length)
        self._start_tape()

    def _start_tape(self) -> None:
        self.floor, self._tape = self.offset, []
        self._base = (self._now[0], self._now[1])
