"""Qwen3.5, 3.6 and 3.8, dense and with experts, trunk and head, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import hybrid_shapes, shapes
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList, as_it_is
from mtplx_engine.models.published import fused_experts, numbered_experts, original_convolutions

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 151936,
    "linear_num_value_heads": 64,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 192,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "full_attention_interval": 4,
    "num_experts": 0,
    "shared_expert_intermediate_size": 0,
    "moe_intermediate_size": 0,
}
_PREFIX = "language_model"
_VISION = ("vision_tower", "model.visual")


def _sizes(config: Mapping[str, Any]) -> Sizes:
    """Return the sizes of the language model; what is said beside a nested one counts for nothing."""
    nested = config.get("text_config")
    return Sizes(nested if isinstance(nested, dict) else config, DEFAULTS)


def _trunk(config: Mapping[str, Any]) -> Shapes:
    sizes = _sizes(config)
    blocks = [_block(sizes, number) for number in range(sizes["num_hidden_layers"])]
    tied = sizes.says("tie_word_embeddings")
    model = shapes.language_model(sizes["hidden_size"], sizes["vocab_size"], blocks, tied=tied)
    return shapes.under(_PREFIX, model)


def _block(sizes: Sizes, number: int) -> Shapes:
    is_full = (number + 1) % sizes.period("full_attention_interval") == 0
    mixer = hybrid_shapes.attention(sizes) if is_full else hybrid_shapes.gated_delta(sizes, fused=False)
    return hybrid_shapes.block(sizes, mixer, sparse=sizes["num_experts"] > 0)


def _head(config: Mapping[str, Any]) -> Shapes:
    sizes = _sizes(config)
    block = hybrid_shapes.block(sizes, hybrid_shapes.attention(sizes), sparse=sizes["num_experts"] > 0)
    return shapes.head(sizes["hidden_size"], block)


def _own_name(name: str, _: Mapping[str, Any]) -> str | None:
    """Return the name in the language model, where the whole model may see as well."""
    if name.startswith(_VISION):
        return None
    if name.startswith("model.language_model"):
        return name.replace("model.language_model", f"{_PREFIX}.model")
    return name if name.startswith(f"{_PREFIX}.") else f"{_PREFIX}.{name}"


TRUNK = TensorList(
    _trunk,
    _own_name,
    (fused_experts, numbered_experts, original_convolutions),
    never_packed=hybrid_shapes.NEVER_PACKED,
)
HEAD = TensorList(_head, as_it_is, (fused_experts, numbered_experts))
