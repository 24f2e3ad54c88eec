"""The state of a gated-delta-rule layer, which no entry can be taken out of again, and the tape that undoes it.

The state before a block is kept by reference, since a forward makes new arrays; every step of the block leaves its
inputs of the recurrence on a tape. Going back to a step inside the block runs the recurrence again over the steps
that stay: the same function on the same numbers, so the same bits, and no state a position.
"""

from __future__ import annotations

from typing import NamedTuple

import mlx.core as mx
from mlx_lm.models.gated_delta import gated_delta_kernel, gated_delta_ops

from mtplx_engine.cache.state import LayerState

LONGEST_TAPE = 64  # steps; longer forwards read a prompt, of which nothing is refused


class DeltaSteps(NamedTuple):
    """Inputs of T steps of a layer's recurrence.

    Attributes:
        conv_input: [1, K-1+T, C], what the convolution reads; the first K-1 rows are the tail before the steps.
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
        """T."""
        return int(self.k.shape[1])

    @property
    def tail(self) -> mx.array:
        """The convolution's tail [1, K-1, C] after the steps."""
        return mx.contiguous(self.conv_input[:, self.length :])

    def first(self, length: int) -> DeltaSteps:
        """Return the first so many steps."""
        if length == self.length:
            return self
        rows = self.conv_input.shape[1] - self.length + length
        return DeltaSteps(self.conv_input[:, :rows], *(array[:, :length] for array in self[1:]))


def delta_rule(q: mx.array, steps: DeltaSteps, state: mx.array | None) -> tuple[mx.array, mx.array]:
    """Run the gated delta rule over T steps, on Metal by mlx-lm's kernel.

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
    """Convolution tail [1, K-1, C] and state [1, Hv, Dv, Dk] of one layer.

    Attributes:
        floor: The smallest length that `trim` can go back to.
    """

    def __init__(self) -> None:
        super().__init__(2)
        self.floor: int = 0
        self._base = (self._now[0], self._now[1])
        self._tape: list[DeltaSteps] = []
        self._in_block = False

    def record(self, steps: DeltaSteps) -> None:
        """Put a forward on the tape; called before its results are set."""
        if not self._in_block:
            self._start_tape()
        if steps.length <= LONGEST_TAPE:
            self._tape.append(steps)

    def advance(self, count: int) -> None:
        """Note that a forward of `count` tokens is over; without a tape of it there is no way back behind it."""
        self.offset += count
        if self.floor + sum(steps.length for steps in self._tape) != self.offset:
            self._start_tape()

    def begin_block(self) -> None:
        """Make the forwards up to `end_block` one block: `trim` can go back to before the first."""
        self._start_tape()
        self._in_block = True

    def end_block(self) -> None:
        """Let the next forward start a block of its own."""
        self._in_block = False

    def trim(self, surplus: int) -> None:
        """Forget the newest `surplus` tokens; not more than back to `floor`."""
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
        """Become what `snapshot` returned at `length`; no arrays are the empty state."""
        self._become(arrays, length)
        self._start_tape()

    def _start_tape(self) -> None:
        self.floor, self._tape = self.offset, []
        self._base = (self._now[0], self._now[1])
