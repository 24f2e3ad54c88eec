"""Brings loaded weights into the form that a policy asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_map, tree_map_with_path
from mlx_lm.models.mla import MultiLinear, QuantizedMultiLinear
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from mtplx_engine import backend

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKED = (nn.QuantizedLinear, nn.QuantizedEmbedding, QuantizedSwitchLinear, QuantizedMultiLinear)


def place(module: nn.Module, policy: backend.Policy, progress: Callable[[float], None] | None = None) -> None:
    """Unpack and cast the weights of `module`, an array at a time to keep the peak low.

    What the model wants in its own precision (mlx-lm's `cast_predicate`) keeps it.

    Args:
        module: A model or head.
        policy: Whether weights stay packed, and the dtype of the others.
        progress: Told how far it is, 0..1; may raise to stop.
    """
    dtype = backend.dtype(policy)
    if not policy.keep_quantized:
        leaves = tree_map(
            lambda leaf: _unpacked(leaf, dtype), module.leaf_modules(), is_leaf=nn.Module.is_module
        )
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
    if biases is not None:  # the formats without biases have scales of a kind of their own
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
