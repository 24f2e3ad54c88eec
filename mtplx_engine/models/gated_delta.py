"""mlx-lm's gated-delta-rule layers with a tape: bit-equal output, and a state that rolls back rejected drafts.

The recurrence is that of Gated DeltaNet (arXiv:2412.06464, section 3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
from mlx import nn
from mlx_lm.models import qwen3_5, qwen3_next
from mlx_lm.models.gated_delta import compute_g, normalize_qk

from mtplx_engine.cache.layers import DeltaSteps, RecurrentState, delta_rule

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Gates(NamedTuple):
    """Gates of T steps: z [1, T, Hv, Dv] of the output, b [1, T, Hv] of writing, a [1, T, Hv] of decay."""

    z: mx.array
    b: mx.array
    a: mx.array


class TapedGatedDeltaNet(qwen3_5.GatedDeltaNet):
    """Taped gated-delta layer of Qwen3.5."""

    def __call__(self, inputs: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        """Mix inputs [1, T, H] over time; with any other cache than `RecurrentState` it is mlx-lm's own layer."""
        if not isinstance(cache, RecurrentState):
            plain: mx.array = super().__call__(inputs, mask, cache)
            return plain
        z = self.in_proj_z(inputs).reshape(*inputs.shape[:2], self.num_v_heads, self.head_v_dim)
        gates = _Gates(z, self.in_proj_b(inputs), self.in_proj_a(inputs))
        return _mix(self, self.in_proj_qkv(inputs), gates, cache)


class TapedNextGatedDeltaNet(qwen3_next.Qwen3NextGatedDeltaNet):
    """Taped gated-delta layer of Qwen3-Next: the same recurrence behind fused projections."""

    def __call__(self, inputs: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        if not isinstance(cache, RecurrentState):
            plain: mx.array = super().__call__(inputs, mask, cache)
            return plain
        q, k, v, z, b, a = self.fix_query_key_value_ordering(self.in_proj_qkvz(inputs), self.in_proj_ba(inputs))
        mixed = mx.concatenate([part.reshape(*inputs.shape[:2], -1) for part in (q, k, v)], axis=-1)
        return _mix(self, mixed, _Gates(z, b, a), cache)


_TAPED: dict[type, Any] = {
    qwen3_5.GatedDeltaNet: TapedGatedDeltaNet,
    qwen3_next.Qwen3NextGatedDeltaNet: TapedNextGatedDeltaNet,
}


def use_tapes(blocks: Iterable[nn.Module], args: Any) -> None:
    """Replace the gated-delta layers of a new model by taped ones, before its weights are loaded."""
    for block in blocks:
        if block.is_linear:
            block.linear_attn = _TAPED[type(block.linear_attn)](args)


def with_states(model: nn.Module, layers: list[Any]) -> list[Any]:
    """Return empty caches `layers` of a model, with a `RecurrentState` for each taped layer.

    There may be fewer caches than layers: the last layers of some models share those of earlier ones.
    """
    taped = tuple(_TAPED.values())
    return [
        RecurrentState() if isinstance(block.get("linear_attn"), taped) else layer
        for block, layer in zip(model.layers, layers, strict=False)
    ]


def _mix(layer: Any, mixed: mx.array, gates: _Gates, cache: RecurrentState) -> mx.array:
    """Run the part behind the input projections, which both layers share; return [1, T, H], and the tape in `cache`.

    `mixed` [1, T, C] are queries, keys and values before the convolution.
    """
    batch, length, channels = mixed.shape
    tail = cache[0]
    if tail is None:
        tail = mx.zeros((batch, layer.conv_kernel_size - 1, channels), mixed.dtype)
    conv_input = mx.concatenate([tail, mixed], axis=1)
    parts = mx.split(nn.silu(layer.conv1d(conv_input)), [layer.key_dim, 2 * layer.key_dim], -1)
    q, k = (part.reshape(batch, length, layer.num_k_heads, layer.head_k_dim) for part in parts[:2])
    v = parts[2].reshape(batch, length, layer.num_v_heads, layer.head_v_dim)
    q, k = normalize_qk(q, k, inv_scale=layer.head_k_dim**-0.5, eps=1e-6)
    g = compute_g(layer.A_log, gates.a, layer.dt_bias)
    steps = DeltaSteps(conv_input, k, v, g, mx.sigmoid(gates.b))
    cache.record(steps)
    out, cache[1] = delta_rule(q, steps, cache[1])
    cache[0] = steps.tail
    cache.advance(length)
    output: mx.array = layer.out_proj(layer.norm(out, gates.z).reshape(batch, length, -1))
    return output
