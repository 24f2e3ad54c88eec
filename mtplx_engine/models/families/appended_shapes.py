"""The parts of DeepSeek-V3 and the GLMs, whose heads are one more of their decoder layers. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models.families import shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.models.families.shapes import Shapes, Sizes

# The router is no linear layer there, so mlx-lm leaves it unpacked.
NEVER_PACKED = ("mlp.gate.weight",)


def trunk(sizes: Sizes, attention: Callable[[Sizes], Shapes], *, every: int) -> Shapes:
    """Return a whole model; behind the dense layers every so many have experts."""
    blocks = [block(sizes, attention(sizes), number, every) for number in range(sizes["num_hidden_layers"])]
    return shapes.language_model(sizes["hidden_size"], sizes["vocab_size"], blocks, tied=False)


def head(sizes: Sizes, attention: Callable[[Sizes], Shapes], *, every: int) -> Shapes:
    """Return a head around the layer that would come next."""
    layer = block(sizes, attention(sizes), sizes["num_hidden_layers"], every)
    return shapes.head(sizes["hidden_size"], layer)


def block(sizes: Sizes, attention: Shapes, number: int, every: int) -> Shapes:
    """Return the decoder layer of this number."""
    is_behind = number >= sizes["first_k_dense_replace"] and number % every == 0
    is_sparse = is_behind and sizes.get("n_routed_experts") is not None
    feed_forward = (
        experts(sizes) if is_sparse else shapes.mlp(sizes["hidden_size"], sizes["intermediate_size"])
    )
    return shapes.block(sizes["hidden_size"], shapes.under("self_attn", attention), feed_forward)


def experts(sizes: Sizes) -> Shapes:
    """Return routed experts with their router, and shared ones if there are."""
    size, count, inner = (
        sizes[name] for name in ("hidden_size", "n_routed_experts", "moe_intermediate_size")
    )
    router: Shapes = {"gate.weight": (count, size), "gate.e_score_correction_bias": (count,)}
    shared = sizes.get("n_shared_experts")
    extra = {} if shared is None else shapes.under("shared_experts", shapes.mlp(size, inner * shared))
    return router | shapes.experts(count, size, inner) | extra


def grouped_attention(sizes: Sizes) -> Shapes:
    """Return attention with fewer keys than queries."""
    size, width = sizes["hidden_size"], sizes["head_dim"]
    queries, keys = sizes["num_attention_heads"] * width, sizes["num_key_value_heads"] * width
    inputs = {"q_proj": (queries, size), "k_proj": (keys, size), "v_proj": (keys, size)}
    return {
        **shapes.linear(inputs, bias=sizes.says("attention_bias")),
        **shapes.linear({"o_proj": (size, queries)}),
        **(shapes.norms(width, "q_norm", "k_norm") if sizes.says("use_qk_norm") else {}),
    }


def latent_attention(sizes: Sizes) -> Shapes:
    """Return multi-head latent attention, its keys and values unpacked by one matrix for each head."""
    size, heads, rank = sizes["hidden_size"], sizes["num_attention_heads"], sizes["kv_lora_rank"]
    plain, rotary, value = (sizes[name] for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    biased = {"kv_a_proj_with_mqa": (rank + rotary, size), "o_proj": (size, heads * value)}
    queries = heads * (plain + rotary)
    if (query_rank := sizes.get("q_lora_rank")) is None:
        own = shapes.linear({"q_proj": (queries, size)})
    else:
        biased["q_a_proj"] = (query_rank, size)
        own = shapes.linear({"q_b_proj": (queries, query_rank)}) | shapes.norms(query_rank, "q_a_layernorm")
    return {
        **own,
        **shapes.linear(biased, bias=sizes.says("attention_bias")),
        **shapes.norms(rank, "kv_a_layernorm"),
        "embed_q.weight": (heads, rank, plain),
        "unembed_out.weight": (heads, value, rank),
    }
