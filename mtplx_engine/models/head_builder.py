"""From the tensors of a drafting head to the head, strict about every one of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
from mlx import nn

from mtplx_engine.models import placement, tensor_check
from mtplx_engine.models.families.tensor_lists import LISTS
from mtplx_engine.models.packing import infer
from mtplx_engine.models.wiring import Norms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.families.family import Family
    from mtplx_engine.models.families.head import MTPHead
    from mtplx_engine.models.wiring import Wiring

_DTYPES = {
    mx.float32: "F32",
    mx.bfloat16: "BF16",
    mx.float16: "F16",
    mx.uint32: "U32",
    mx.uint8: "U8",
}


class _Array(NamedTuple):
    """Type, as safetensors spells it, and shape of an array."""

    dtype: str
    shape: tuple[int, ...]


class HeadMismatchError(ValueError):
    """A head does not fit its model; the text names the tensor and what is wrong with it."""


def build(
    family: Family,
    config: Mapping[str, Any],
    raw: Mapping[str, mx.array],
    wiring: Wiring,
    policy: Policy,
) -> MTPHead:
    """Make the head that tensors describe.

    Args:
        family: The target's.
        config: Its configuration, laid flat.
        raw: The head's tensors, their prefix taken off; packed or not.
        wiring: How the head is connected.
        policy: How weights are held on this device.

    Raises:
        HeadMismatchError: A tensor is missing, unknown, or of a wrong shape or dtype.
    """
    try:
        weights = family.head_weights(raw, config)
    except ValueError as error:  # experts that cannot be stacked; the text names one
        raise HeadMismatchError(str(error)) from error
    tensors = LISTS[config["model_type"]].head
    found = {
        name: _Array(_DTYPES.get(array.dtype, str(array.dtype)), array.shape)
        for name, array in weights.items()
    }
    if text := tensor_check.mismatch(tensors.wanted(config, found, {}), found):
        raise HeadMismatchError(text)
    expected = tensors.shapes(config)
    if wiring.norms is Norms.PLUS_ONE:
        for name in expected:
            if is_gain(name):
                weights[name] = weights[name].astype(mx.float32) + 1
    head = family.new_head(config, wiring)
    nn.quantize(head, class_predicate=lambda path, _: _packing(path, expected, found))
    head.load_weights(list(weights.items()))
    head.eval()
    placement.place(head, policy)
    return head


def is_gain(name: str) -> bool:
    """Whether a head tensor is the gain of a norm."""
    return name.endswith(".weight") and "norm" in name.split(".")[-2]


def _packing(
    path: str, expected: Mapping[str, tuple[int, ...]], found: Mapping[str, _Array]
) -> dict[str, Any] | bool:
    """Return how the module at `path` is packed, false when it is not."""
    if f"{path}.scales" not in found:
        return False
    weight = f"{path}.weight"
    packing = infer(expected[weight], found[weight], found[f"{path}.scales"])
    return dataclasses.asdict(packing) if packing else False
