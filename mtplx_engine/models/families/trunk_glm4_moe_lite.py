"""GLM-4.7-Flash, trunk and head, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import appended_shapes
from mtplx_engine.models.families.appended_names import own_name
from mtplx_engine.models.families.appended_shapes import NEVER_PACKED, latent_attention
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList, as_it_is
from mtplx_engine.models.published import joined_latents, numbered_experts

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {
    "vocab_size": 154880,
    "hidden_size": 2048,
    "intermediate_size": 10240,
    "moe_intermediate_size": 1536,
    "num_hidden_layers": 47,
    "num_attention_heads": 20,
    "n_shared_experts": 1,
    "n_routed_experts": 64,
    "kv_lora_rank": 512,
    "q_lora_rank": 768,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 192,
    "v_head_dim": 256,
    "moe_layer_freq": 1,
    "first_k_dense_replace": 1,
    "attention_bias": False,
}
_LAYOUTS = (joined_latents, numbered_experts)


def _trunk(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    return appended_shapes.trunk(sizes, latent_attention, every=sizes.period("moe_layer_freq"))


def _head(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    return appended_shapes.head(sizes, latent_attention, every=sizes.period("moe_layer_freq"))


TRUNK = TensorList(_trunk, as_it_is, _LAYOUTS, NEVER_PACKED)
HEAD = TensorList(_head, lambda name, _: own_name(name), _LAYOUTS, NEVER_PACKED)
