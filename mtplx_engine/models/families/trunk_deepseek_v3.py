"""DeepSeek-V3 and R1, trunk and head, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import appended_shapes
from mtplx_engine.models.families.appended_names import own_name
from mtplx_engine.models.families.appended_shapes import NEVER_PACKED, latent_attention
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList
from mtplx_engine.models.published import in_fp8, in_int4, joined_latents, numbered_experts

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {
    "vocab_size": 102400,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "moe_intermediate_size": 1407,
    "num_hidden_layers": 30,
    "num_attention_heads": 32,
    "n_shared_experts": None,
    "n_routed_experts": None,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "moe_layer_freq": 1,
    "first_k_dense_replace": 0,
    "attention_bias": False,
}
_LAYOUTS = (joined_latents, numbered_experts, in_fp8, in_int4)


def _trunk(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    return appended_shapes.trunk(sizes, latent_attention, every=sizes.period("moe_layer_freq"))


def _head(config: Mapping[str, Any]) -> Shapes:
    sizes = Sizes(config, DEFAULTS)
    return appended_shapes.head(sizes, latent_attention, every=sizes.period("moe_layer_freq"))


def _trunk_name(name: str, _: Mapping[str, Any]) -> str | None:
    return None if "rotary_emb.inv_freq" in name else name


TRUNK = TensorList(_trunk, _trunk_name, _LAYOUTS, NEVER_PACKED)
HEAD = TensorList(_head, lambda name, _: own_name(name), _LAYOUTS, NEVER_PACKED)
