"""From the tensors of a drafting head to the head, strict about every one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx import nn

from mtplx_engine.models import placement
from mtplx_engine.models.wiring import Norms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.families.family import Family
    from mtplx_engine.models.families.head import MTPHead
    from mtplx_engine.models.wiring import Wiring

_FLOATING = (mx.float32, mx.bfloat16, mx.float16)
_AFFINE_BITS = (2, 3, 4, 5, 6, 8)
_AFFINE_GROUPS = (32, 64, 128)
# Bits, group size and mode of the packings whose scales are bytes; each width and size has one mode.
_BYTE_SCALED = {(4, 16): "nvfp4", (4, 32): "mxfp4", (8, 32): "mxfp8"}


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
    expected = family.head_tensors(config)
    packings = _packings(expected, weights)
    _check_names(expected, weights, packings)
    for name, shape in expected.items():
        if name.removesuffix(".weight") not in packings:
            _check_plain(name, weights[name], shape)
    if wiring.norms is Norms.PLUS_ONE:
        for name in expected:
            if is_gain(name):
                weights[name] = weights[name].astype(mx.float32) + 1
    head = family.new_head(config, wiring)
    nn.quantize(head, class_predicate=lambda path, _: packings.get(path, False))
    head.load_weights(list(weights.items()))
    head.eval()
    placement.place(head, policy)
    return head


def is_gain(name: str) -> bool:
    """Whether a head tensor is the gain of a norm."""
    return name.endswith(".weight") and "norm" in name.split(".")[-2]


def _packings(
    expected: Mapping[str, tuple[int, ...]], weights: Mapping[str, mx.array]
) -> dict[str, dict[str, Any]]:
    """Return how the packed modules are packed, by their path."""
    paths = (name.removesuffix(".scales") for name in weights if name.endswith(".scales"))
    known = (path for path in paths if f"{path}.weight" in expected and f"{path}.weight" in weights)
    return {path: _packing(path, expected[f"{path}.weight"], weights) for path in known}


def _packing(path: str, shape: tuple[int, ...], weights: Mapping[str, mx.array]) -> dict[str, Any]:
    """Infer bits, group size and mode of a packed matrix from its arrays, and check that they belong together."""
    packed, scales = weights[f"{path}.weight"], weights[f"{path}.scales"]
    biases = weights.get(f"{path}.biases")
    rows = {packed.shape[:-1], scales.shape[:-1], shape[:-1]}
    if packed.dtype != mx.uint32 or len(rows) > 1 or not scales.size:
        raise _wrong(f"{path}.weight", packed, shape)
    bits, rest = divmod(packed.shape[-1] * 32, shape[-1])
    group_size, remainder = divmod(shape[-1], scales.shape[-1])
    if scales.dtype in _FLOATING:
        mode = "affine" if bits in _AFFINE_BITS and group_size in _AFFINE_GROUPS else None
        fits = biases is not None and (biases.shape, biases.dtype) == (scales.shape, scales.dtype)
    else:
        mode = _BYTE_SCALED.get((bits, group_size)) if scales.dtype == mx.uint8 else None
        fits = biases is None
    if rest or remainder or mode is None or not fits:
        raise HeadMismatchError(f"{path}.scales: {bits} bits in groups of {group_size} are not known")
    return {"bits": bits, "group_size": group_size, "mode": mode}


def _check_names(
    expected: Mapping[str, tuple[int, ...]],
    weights: Mapping[str, mx.array],
    packings: Mapping[str, dict[str, Any]],
) -> None:
    names = set(expected)
    for path, packing in packings.items():
        names.add(f"{path}.scales")
        if packing["mode"] == "affine":
            names.add(f"{path}.biases")
    if missing := sorted(names - weights.keys()):
        raise HeadMismatchError(f"{missing[0]}: missing")
    if unknown := sorted(weights.keys() - names):
        raise HeadMismatchError(f"{unknown[0][:100]}: unknown")


def _check_plain(name: str, array: mx.array, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype not in _FLOATING:
        raise _wrong(name, array, shape)


def _wrong(name: str, array: mx.array, shape: tuple[int, ...]) -> HeadMismatchError:
    dtype = str(array.dtype).removeprefix("mlx.core.")
    return HeadMismatchError(f"{name}: {dtype} {list(array.shape)}, expected {list(shape)}")
