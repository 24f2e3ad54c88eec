"""The parts of Qwen3-Next and Qwen3.5 as names and shapes. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models.families import shapes

if TYPE_CHECKING:
    from mtplx_engine.models.families.shapes import Shapes, Sizes

NEVER_PACKED = ("conv1d.weight",)


def attention(sizes: Sizes) -> Shapes:
    """Return gated full attention: queries come with as many gates."""
    size, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    width = sizes.get("head_dim") or size // heads
    queries, keys = heads * width, sizes["num_key_value_heads"] * width
    matrices = {
        "q_proj": (2 * queries, size),
        "k_proj": (keys, size),
        "v_proj": (keys, size),
        "o_proj": (size, queries),
    }
    projections = shapes.linear(matrices, bias=sizes.says("attention_bias"))
    return shapes.under("self_attn", projections | shapes.norms(width, "q_norm", "k_norm"))


def gated_delta(sizes: Sizes, *, fused: bool) -> Shapes:
    """Return a recurrent layer; `fused` joins its input projections in two."""
    size, heads, width = (
        sizes[name] for name in ("hidden_size", "linear_num_value_heads", "linear_value_head_dim")
    )
    keys, values = sizes["linear_num_key_heads"] * sizes["linear_key_head_dim"], heads * width
    channels = 2 * keys + values
    rows = {"in_proj_qkv": channels, "in_proj_z": values, "in_proj_b": heads, "in_proj_a": heads}
    if fused:
        rows = {"in_proj_qkvz": channels + values, "in_proj_ba": 2 * heads}
    matrices = {name: (count, size) for name, count in rows.items()} | {"out_proj": (size, values)}
    own: Shapes = {
        "conv1d.weight": (channels, sizes["linear_conv_kernel_dim"], 1),
        "A_log": (heads,),
        "dt_bias": (heads,),
    }
    return shapes.under("linear_attn", own | shapes.linear(matrices) | shapes.norms(width, "norm"))


def _experts(sizes: Sizes) -> Shapes:
    size, count = sizes["hidden_size"], sizes["num_experts"]
    shared = shapes.mlp(size, sizes["shared_expert_intermediate_size"])
    return {
        **shapes.linear({"gate": (count, size), "shared_expert_gate": (1, size)}),
        **shapes.experts(count, size, sizes["moe_intermediate_size"]),
        **shapes.under("shared_expert", shared),
    }


def block(sizes: Sizes, mixer: Shapes, *, sparse: bool) -> Shapes:
    """Return a decoder layer around an attention or recurrent layer; `sparse` for experts."""
    size = sizes["hidden_size"]
    return shapes.block(
        size, mixer, _experts(sizes) if sparse else shapes.mlp(size, sizes["intermediate_size"])
    )
