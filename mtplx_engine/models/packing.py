"""How mlx packs a matrix: numbers of a few bits in words, with a scale, or scale and bias, for each group in a row.

Imports no mlx.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.models.tensor_check import BYTES, FLOATING

if TYPE_CHECKING:
    from mtplx_engine.models.tensor_check import Stored

_WORD_BITS = 32
_AFFINE = "affine"
_AFFINE_BITS = (2, 3, 4, 5, 6, 8)
_AFFINE_GROUPS = (32, 64, 128)
# Bits, group size and mode of the packings whose scales are bytes; each width and size has one mode.
_BYTE_SCALED = {(4, 16): "nvfp4", (4, 32): "mxfp4", (8, 32): "mxfp8"}


@dataclass(frozen=True, slots=True)
class Packing:
    """One way to pack.

    Attributes:
        bits: Of a number.
        group_size: Numbers in a row that share a scale.
        mode: mlx's name for the kind of numbers.
    """

    bits: int
    group_size: int
    mode: str = _AFFINE


def infer(shape: tuple[int, ...], weight: Stored, scales: Stored) -> Packing | None:
    """Return how a matrix of this shape was packed into words and scales, None when no packing makes them so."""
    if not weight.shape or not scales.shape or not scales.shape[-1] or not shape[-1]:
        return None
    bits, rest = divmod(weight.shape[-1] * _WORD_BITS, shape[-1])
    group_size, remainder = divmod(shape[-1], scales.shape[-1])
    if rest or remainder:
        return None
    if scales.dtype in FLOATING:
        is_known = bits in _AFFINE_BITS and group_size in _AFFINE_GROUPS
        return Packing(bits, group_size) if is_known else None
    mode = _BYTE_SCALED.get((bits, group_size))
    return Packing(bits, group_size, mode) if mode and scales.dtype in BYTES else None
