"""Qwen3-Next, trunk and head, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import hybrid_shapes, shapes
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList, as_it_is
from mtplx_engine.models.published import fused_experts, numbered_experts, original_convolutions

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {"attention_bias": False, "tie_word_embeddings": False, "full_attention_interval": 4}


def _trunk(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    blocks = [_block(sizes, number) for number in range(sizes["num_hidden_layers"])]
    tied = sizes.says("tie_word_embeddings")
    return shapes.language_model(sizes["hidden_size"], sizes["vocab_size"], blocks, tied=tied)


def _block(sizes: Sizes, number: int) -> Shapes:
    is_dense = number in sizes.items("mlp_only_layers") or (number + 1) % sizes.period("decoder_sparse_step")
    is_full = (number + 1) % sizes.period("full_attention_interval") == 0
    mixer = hybrid_shapes.attention(sizes) if is_full else hybrid_shapes.gated_delta(sizes, fused=True)
    return hybrid_shapes.block(sizes, mixer, sparse=sizes["num_experts"] > 0 and not is_dense)


def _head(config: Mapping[str, Any]) -> Shapes:
    """Return a head, which has experts whichever layers of the trunk are dense."""
    sizes = Sizes(config, DEFAULTS)
    block = hybrid_shapes.block(sizes, hybrid_shapes.attention(sizes), sparse=sizes["num_experts"] > 0)
    return shapes.head(sizes["hidden_size"], block)


def _own_name(name: str, config: Mapping[str, Any]) -> str | None:
    is_repeated = name == "lm_head.weight" and config.get("tie_word_embeddings")
    return None if is_repeated else name


TRUNK = TensorList(
    _trunk, _own_name, (numbered_experts, original_convolutions), never_packed=hybrid_shapes.NEVER_PACKED
)
HEAD = TensorList(_head, as_it_is, (fused_experts, numbered_experts))
