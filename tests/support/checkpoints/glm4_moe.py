"""A tiny GLM-4.5: grouped attention with biases and norms of queries and keys, half of each head rotated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.checkpoints.appended import Shapes, Tiny
from tests.support.tiny_folder import END, VOCABULARY, WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping


def _grouped_attention(config: Mapping[str, Any]) -> Shapes:
    size, width = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    rows = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    return {
        **{f"{name}.weight": (count, size) for name, count in rows.items()},
        **{f"{name}.bias": (count,) for name, count in rows.items()},
        "o_proj.weight": (size, queries),
        "q_norm.weight": (width,),
        "k_norm.weight": (width,),
    }


TINY = Tiny(
    {
        "model_type": "glm4_moe",
        "architectures": ["Glm4MoeForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 128,
        "moe_intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
        "first_k_dense_replace": 1,
        "partial_rotary_factor": 0.5,
        "use_qk_norm": True,
        "attention_bias": True,
        "max_position_embeddings": WINDOW,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1000000,
        "rope_scaling": None,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": False,
        "eos_token_id": END,
    },
    _grouped_attention,
)
