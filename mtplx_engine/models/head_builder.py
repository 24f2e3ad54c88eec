"""Build an MTP head from its tensors, and put weights on the device as the policy says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_map, tree_map_with_path
from mlx_lm.models.mla import MultiLinear, QuantizedMultiLinear
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from mtplx_engine import backend
from mtplx_engine.models import weights
from mtplx_engine.models.manifest import Norms
from mtplx_engine.models.stored_tensors import infer_packing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.families.family import Family, MTPHead
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.manifest import Wiring
    from mtplx_engine.models.weights import Kind


_PACKED = (nn.QuantizedLinear, nn.QuantizedEmbedding, QuantizedSwitchLinear, QuantizedMultiLinear)


class HeadMismatchError(ValueError):
    """A head does not fit its model; the message names a tensor and its mistake."""


def read(source: HeadSource) -> dict[str, mx.array]:
    """Return the tensors of a head by their names without the prefix; their bytes are not read yet."""
    paths = {location.path for location in source.tensors.values()}
    files = {path: cast("dict[str, mx.array]", mx.load(str(path))) for path in paths}
    return {raw: files[location.path][location.name] for raw, location in source.tensors.items()}


def build_head(
    family: Family,
    config: Mapping[str, Any],
    raw: Mapping[str, mx.array],
    wiring: Wiring,
    policy: Policy,
) -> MTPHead:
    """Build a head, its weights on the device.

    `config` is the target's, laid flat; `raw` are the head's tensors, packed or not, named without their prefix.

    Raises:
        HeadMismatchError: A tensor is missing, unknown, or of a wrong shape or dtype.
    """
    head = assemble(family, config, raw, wiring)
    place_head(head, policy)
    return head


def assemble(family: Family, config: Mapping[str, Any], raw: Mapping[str, mx.array], wiring: Wiring) -> MTPHead:
    """Build a head without reading a byte of its tensors; arguments and errors as for `build_head`."""
    try:
        own = family.head_weights(raw, config)
    except ValueError as error:  # experts that cannot be stacked; the message names one
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
    """Return the quantization of the module at `path` as `nn.quantize` takes it, false when it has none."""
    parts = [found.get(f"{path}.{part}") for part in ("weight", "scales")]
    if None in parts or 0 in shapes[f"{path}.weight"] or not hasattr(module, "to_quantized"):
        return False
    packing = infer_packing(shapes[f"{path}.weight"], *cast("list[Kind]", parts))
    return dataclasses.asdict(packing) if packing else False


def place_head(module: nn.Module, policy: backend.Policy, progress: Callable[[float], None] | None = None) -> None:
    """Unpack and cast the weights of `module`, an array at a time to keep the memory peak low.

    Parameters that mlx-lm's `cast_predicate` excludes keep their precision. `progress` gets 0..1 and may raise to stop.
    """
    dtype = backend.dtype(policy)
    if not policy.keep_quantized:
        leaves = tree_map(lambda leaf: _unpacked(leaf, dtype), module.leaf_modules(), is_leaf=nn.Module.is_module)
        module.update_modules(leaves)
    may_cast = getattr(module, "cast_predicate", lambda _: True)

    def cast_one(path: str, array: mx.array) -> mx.array:
        is_floating = mx.issubdtype(array.dtype, mx.floating)
        return array.astype(dtype) if is_floating and may_cast(path) else array

    module.update(tree_map_with_path(cast_one, module.parameters()))
    arrays = [array for _, array in cast("list[tuple[str, mx.array]]", tree_flatten(module.parameters()))]
    for done, array in enumerate(arrays):
        mx.eval(array)
        if progress is not None and done % 16 == 0:
            progress(done / len(arrays))
    mx.clear_cache()


def _unpacked(module: Any, dtype: mx.Dtype) -> nn.Module:
    """Return a plain twin of a quantized module, its weights unpacked in float32 before rounding to `dtype`."""
    if not isinstance(module, _PACKED):
        plain: nn.Module = module
        return plain
    scales, biases = module.scales, module.biases
    if biases is not None:  # formats without biases have scales in a type of their own
        scales, biases = scales.astype(mx.float32), biases.astype(mx.float32)
    weight = mx.dequantize(
        module.weight,
        scales,
        biases,
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
        dtype=mx.float32,
    ).astype(dtype)
    twin = _twin(module)
    if "bias" in module:
        twin.bias = module.bias
    twin.weight = weight
    return twin


def _twin(module: nn.Module) -> nn.Module:
    """Return a plain module of the same kind, its weight still to be set."""
    if isinstance(module, nn.QuantizedEmbedding):
        return nn.Embedding(1, 1)
    if isinstance(module, QuantizedSwitchLinear):
        switch: nn.Module = SwitchLinear(1, 1, 1, bias="bias" in module)
        return switch
    if isinstance(module, QuantizedMultiLinear):
        heads: nn.Module = MultiLinear(1, 1, 1)
        return heads
    return nn.Linear(1, 1, bias="bias" in module)
