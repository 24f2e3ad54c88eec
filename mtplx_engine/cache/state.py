"""The state of a layer that each forward replaces as a whole: of a recurrence, nothing can be taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx

if TYPE_CHECKING:
    from collections.abc import Sequence


class LayerState:
    """The arrays of one layer; to mlx-lm's layers it looks like its `ArraysCache`.

    Args:
        size: How many arrays.

    Attributes:
        offset: How many tokens went into the state.
        lengths: Always None; mlx-lm's layers look here for padded batches.
    """

    keeps_all = False

    def __init__(self, size: int) -> None:
        self.offset: int = 0
        self.lengths = None
        self._now: list[mx.array | None] = [None] * size

    def __getitem__(self, index: int) -> mx.array | None:
        """Return an array; None before any token."""
        return self._now[index]

    def __setitem__(self, index: int, value: mx.array) -> None:
        self._now[index] = value

    def make_mask(self, _count: int) -> None:
        """Return the mask of a forward: none, there is no padding."""

    def snapshot(self) -> tuple[mx.array, ...]:
        """Return the present arrays, by reference where they are no slices: nothing ever writes into them."""
        return tuple(mx.contiguous(array) for array in self.arrays())

    def arrays(self) -> list[mx.array]:
        """Return the arrays, to be evaluated; empty before the first forward."""
        return [array for array in self._now if array is not None]

    def contents(self) -> list[mx.array]:
        """Return the arrays."""
        return self.arrays()

    def _become(self, arrays: Sequence[mx.array | None], length: int) -> None:
        """Take what was held at `length`; no arrays are the empty state."""
        self._now = list(arrays) or [None] * len(self._now)
        self.offset = length


class StepState(LayerState):
    """A state that only grows, but for the newest single step: plain decoding runs one step ahead.

    The state before that step is kept by reference. Nothing else can be undone, so nothing may draft for a model
    with such layers; back over more than a step lead only the checkpoints of `TokenCache`.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._held = tuple(self._now)
        self._before: tuple[mx.array | None, ...] | None = None

    @property
    def floor(self) -> int:
        """The smallest length that `trim` can go back to."""
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
        """Forget the newest `surplus` tokens; not more than back to `floor`."""
        if surplus and self._before is not None:
            self.restore(self._before, self.offset - 1)

    def restore(self, arrays: Sequence[mx.array | None], length: int) -> None:
        """Become what `snapshot` returned at `length`; no arrays are the empty state."""
        self._become(arrays, length)
        self._held, self._before = tuple(self._now), None
