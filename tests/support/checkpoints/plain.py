"""Tiny random models of families that decode plainly, with a head that the engine must leave alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models import (
    deepseek_v32,
    gemma4,
    gemma4_text,
    glm_moe_dsa,
    mimo,
    mimo_v2_flash,
    nemotron_h,
    step3p5,
)

from tests.support.checkpoints import shards
from tests.support.tiny_folder import END, VOCABULARY, WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType


SLIDING = 8  # narrower than the prompts of the tests, so that windows move
TOP = 12  # fewer than their tokens, so that sparse attention leaves some out


@dataclass(frozen=True, slots=True)
class Plain:
    """One family.

    Attributes:
        config: Its config.json.
        module: Its module in mlx-lm.
        head: Name of a tensor that shows its head; empty for the one whose heads are repositories of their own.
    """

    config: Mapping[str, Any]
    module: ModuleType
    head: str

    def write(self, folder: Path) -> Any:
        """Write the folder and return mlx-lm's own model."""
        model = self.module.Model(self.module.ModelArgs.from_dict(dict(self.config)))
        generator = np.random.default_rng(0)
        values = {
            name: mx.array(generator.normal(0, 1.5 / np.sqrt(array.shape[-1]), array.shape), mx.float32)
            for name, array in sorted(tree_flatten(model.parameters()))
            if array.ndim > 1
        }
        model.load_weights(list(values.items()), strict=False)
        tensors = dict(tree_flatten(model.parameters()))
        if self.head:
            tensors[self.head] = mx.zeros((4, 4))
        shards.write(folder, self.config, tensors)
        return model


_COMMON = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": WINDOW,
    "eos_token_id": END,
}
_EXPERTS = {
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "n_shared_experts": None,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "routed_scaling_factor": 1.0,
    "norm_topk_prob": True,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
}
_SPARSE = {
    **_COMMON,
    **_EXPERTS,
    "n_shared_experts": 1,
    "moe_layer_freq": 1,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "index_head_dim": 16,
    "index_n_heads": 2,
    "index_topk": TOP,
    "attention_bias": False,
}
_GEMMA4_TEXT = {
    **_COMMON,
    "model_type": "gemma4_text",
    "num_hidden_layers": 4,
    "head_dim": 8,
    "global_head_dim": 16,
    "num_kv_shared_layers": 2,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "sliding_window": SLIDING,
    "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": VOCABULARY,
}

PLAIN = {
    "deepseek_v32": Plain(
        {**_SPARSE, "model_type": "deepseek_v32", "rope_theta": 10000},
        deepseek_v32,
        "model.layers.2.eh_proj.weight",
    ),
    "glm_moe_dsa": Plain(
        {**_SPARSE, "model_type": "glm_moe_dsa", "rope_parameters": {"rope_theta": 10000}},
        glm_moe_dsa,
        "model.layers.2.eh_proj.weight",
    ),
    "nemotron_h": Plain(
        {
            **_COMMON,
            **_EXPERTS,
            "model_type": "nemotron_h",
            "n_shared_experts": 1,
            "moe_shared_expert_intermediate_size": 16,
            "num_hidden_layers": 6,
            "hybrid_override_pattern": "ME*-M*",
            "head_dim": 8,
            "attention_bias": False,
            "mamba_num_heads": 4,
            "mamba_head_dim": 8,
            "mamba_proj_bias": False,
            "ssm_state_size": 16,
            "conv_kernel": 4,
            "n_groups": 2,
            "mlp_bias": False,
            "layer_norm_epsilon": 1e-5,
            "use_bias": False,
            "use_conv_bias": True,
        },
        nemotron_h,
        "mtp.layers.0.eh_proj.weight",
    ),
    "mimo": Plain({**_COMMON, "model_type": "mimo"}, mimo, "model.mtp_layers.0.input_proj.weight"),
    "mimo_v2_flash": Plain(
        {
            **_COMMON,
            **_EXPERTS,
            "model_type": "mimo_v2_flash",
            "hybrid_layer_pattern": [0, 1],
            "moe_layer_freq": [0, 1],
            "add_swa_attention_sink_bias": True,
            "add_full_attention_sink_bias": False,
            "sliding_window_size": SLIDING,
            "layernorm_epsilon": 1e-5,
            "rope_theta": 10000,
            "swa_rope_theta": 10000,
            "swa_num_attention_heads": 4,
            "swa_num_key_value_heads": 2,
            "head_dim": 8,
            "v_head_dim": 8,
            "swa_head_dim": 8,
            "swa_v_head_dim": 8,
            "partial_rotary_factor": 1.0,
        },
        mimo_v2_flash,
        "model.mtp.layers.0.eh_proj.weight",
    ),
    "step3p5": Plain(
        {
            **_COMMON,
            "model_type": "step3p5",
            "num_attention_groups": 2,
            "head_dim": 8,
            "sliding_window": SLIDING,
            "layer_types": ["full_attention", "sliding_attention"],
            "moe_layers_enum": "1",
            "moe_num_experts": 4,
            "moe_top_k": 2,
            "moe_intermediate_size": 16,
            "share_expert_dim": 16,
        },
        step3p5,
        "model.layers.2.eh_proj.weight",
    ),
    "gemma4": Plain(
        {
            "model_type": "gemma4",
            "vocab_size": VOCABULARY,
            "eos_token_id": END,
            "text_config": _GEMMA4_TEXT,
        },
        gemma4,
        "",
    ),
    "gemma4_text": Plain(_GEMMA4_TEXT, gemma4_text, ""),
}
