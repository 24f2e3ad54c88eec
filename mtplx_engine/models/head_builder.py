"""From the tensors of a drafting head to the head, strict about every one of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx import nn

from mtplx_engine.models import placement, weights
from mtplx_engine.models.packing import infer
from mtplx_engine.models.wiring import Norms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.families.family import Family
    from mtplx_engine.models.families.head import MTPHead
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.weights import Kind
    from mtplx_engine.models.wiring import Wiring


class HeadMismatchError(ValueError):
    """A head does not fit its model; the text names the tensor and what is wrong with it."""


def read(source: HeadSource) -> dict[str, mx.array]:
    """Return the tensors of a head by their names without the prefix; their bytes are not read yet."""
    files = {path: _arrays(path) for path in {location.path for location in source.tensors.values()}}
    return {raw: files[location.path][location.name] for raw, location in source.tensors.items()}


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
    head = assemble(family, config, raw, wiring)
    placement.place(head, policy)
    return head


def assemble(
    family: Family, config: Mapping[str, Any], raw: Mapping[str, mx.array], wiring: Wiring
) -> MTPHead:
    """Make a head without reading a byte of its tensors; arguments and errors as for `build`."""
    try:
        own = family.head_weights(raw, config)
    except ValueError as error:  # experts that cannot be stacked; the text names one
        raise HeadMismatchError(str(error)) from error
    head = family.new_head(config, wiring)
    shapes = {name: array.shape for name, array in weights.parameters(head).items()}
    found = weights.kinds(own)
    nn.quantize(head, class_predicate=lambda path, module: _packing(path, module, shapes, found))
    try:
        weights.check(head, own, weights.Spelling(raw, own))
    except weights.MismatchError as error:
        raise HeadMismatchError(str(error)) from error
    if wiring.norms is Norms.PLUS_ONE:
        own |= {name: own[name].astype(mx.float32) + 1 for name in shapes if is_gain(name)}
    head.load_weights(list(own.items()))
    head.eval()
    return head


def is_gain(name: str) -> bool:
    """Whether a head tensor is the gain of a norm."""
    return name.endswith(".weight") and "norm" in name.split(".")[-2]


def _packing(
    path: str, module: nn.Module, shapes: Mapping[str, tuple[int, ...]], found: Mapping[str, Kind]
) -> dict[str, Any] | bool:
    """Return how the module at `path` is packed, false when it is not."""
    parts = [found.get(f"{path}.{part}") for part in ("weight", "scales")]
    if None in parts or 0 in shapes[f"{path}.weight"] or not hasattr(module, "to_quantized"):
        return False
    packing = infer(shapes[f"{path}.weight"], *cast("list[Kind]", parts))
    return dataclasses.asdict(packing) if packing else False


def _arrays(path: Path) -> dict[str, mx.array]:
    return cast("dict[str, mx.array]", mx.load(str(path)))
