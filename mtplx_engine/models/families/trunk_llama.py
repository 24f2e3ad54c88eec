"""Llama-type models and our heads for them, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import shapes
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList, as_it_is

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {"attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True}


def _block(sizes: Sizes) -> Shapes:
    size, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    width = sizes.get("head_dim") or size // heads
    queries, keys = heads * width, (sizes.get("num_key_value_heads") or heads) * width
    matrices = {
        "q_proj": (queries, size),
        "k_proj": (keys, size),
        "v_proj": (keys, size),
        "o_proj": (size, queries),
    }
    attention = shapes.linear(matrices, bias=sizes.says("attention_bias"))
    feed_forward = shapes.mlp(size, sizes["intermediate_size"], bias=sizes.says("mlp_bias"))
    return shapes.block(size, shapes.under("self_attn", attention), feed_forward)


def _trunk(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    layers = len(sizes.items("layer_types")) or sizes["num_hidden_layers"]
    return shapes.language_model(
        sizes["hidden_size"],
        sizes["vocab_size"],
        [_block(sizes)] * layers,
        tied=sizes.says("tie_word_embeddings"),
    )


def _head(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    return shapes.head(sizes["hidden_size"], _block(sizes))


def _own_name(name: str, config: Mapping[str, Any]) -> str | None:
    is_repeated = name == "lm_head.weight" and Sizes(config, DEFAULTS).says("tie_word_embeddings")
    return None if is_repeated or "self_attn.rotary_emb.inv_freq" in name else name


TRUNK = TensorList(_trunk, _own_name)
HEAD = TensorList(_head, as_it_is)
