"""Tiny random checkpoints of Qwen3-Next and Qwen3.5, in the published and in mlx-lm's converted layout.

Converted: gains of norms, convolutions [C, K, 1], experts stacked. Published: gains minus one, convolutions
[C, 1, K], experts numbered or fused. Gains are multiples of 1/256, so that one can be taken off and added exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import mlx.core as mx
import numpy as np

from tests.support.tiny_folder import END, VOCABULARY, WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping


Shapes = dict[str, tuple[int, ...]]
Experts = Literal["numbered", "fused"]

_TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "full_attention_interval": 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "max_position_embeddings": WINDOW,
    "rms_norm_eps": 1e-6,
    "attention_bias": False,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
    "eos_token_id": END,
}
_EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 128,
    "norm_topk_prob": True,
}
_ROPE = {
    "mrope_interleaved": True,
    "mrope_section": [2, 1, 1],
    "rope_type": "default",
    "rope_theta": 10000,
    "partial_rotary_factor": 0.25,
}
_ALL_SPARSE = {"decoder_sparse_step": 1, "mlp_only_layers": []}


@dataclass(frozen=True, slots=True)
class Tiny:
    """A family's tiny checkpoint.

    Attributes:
        config: Its config.json.
        published: How its experts are published.
    """

    config: Mapping[str, Any]
    published: Experts = "numbered"

    @property
    def text(self) -> Mapping[str, Any]:
        """Settings of the language model."""
        return self.config.get("text_config", self.config)

    def converted(self, seed: int = 0) -> dict[str, mx.array]:
        """Make the tensors in the converted layout, head included, in float32."""
        generator = np.random.default_rng(seed)
        return {
            name: mx.array(_values(name, shape, generator), mx.float32)
            for name, shape in sorted(self._shapes().items())
        }

    def original(self, converted: Mapping[str, mx.array], experts: Experts | None = None) -> dict[str, mx.array]:
        """Lay converted tensors, unpacked, out as published; `experts` says how those are."""
        tensors: dict[str, mx.array] = {}
        for name, array in converted.items():
            published = name.removeprefix("language_model.")
            if "text_config" in self.config and published.startswith("model."):
                published = f"model.language_{published}"
            if ".switch_mlp." in name:
                tensors |= _published_experts(published, array, converted, name, experts or self.published)
            elif "conv1d" in name:
                tensors[published] = array.moveaxis(1, 2)
            else:
                tensors[published] = array - 1 if is_shifted(name) else array
        if "text_config" in self.config:
            tensors["model.visual.patch_embed.proj.weight"] = mx.zeros((2, 2))
        return {name: mx.contiguous(array) for name, array in tensors.items()}

    def head(self, tensors: Mapping[str, mx.array]) -> dict[str, mx.array]:
        """Return the tensors of the head of either layout, without their prefix."""
        parts = ((name.partition("mtp."), array) for name, array in tensors.items())
        return {rest: array for (_, found, rest), array in parts if found}

    def _shapes(self) -> Shapes:
        text, outer = self.text, "language_model." if "text_config" in self.config else ""
        size, vocabulary = text["hidden_size"], text["vocab_size"]
        shapes: Shapes = {
            f"{outer}model.embed_tokens.weight": (vocabulary, size),
            f"{outer}model.norm.weight": (size,),
            f"{outer}lm_head.weight": (vocabulary, size),
            f"{outer}mtp.fc.weight": (size, 2 * size),
            f"{outer}mtp.pre_fc_norm_embedding.weight": (size,),
            f"{outer}mtp.pre_fc_norm_hidden.weight": (size,),
            f"{outer}mtp.norm.weight": (size,),
            **{f"{outer}mtp.layers.0.{name}": shape for name, shape in self._block(full=True).items()},
        }
        for number in range(text["num_hidden_layers"]):
            block = self._block(full=(number + 1) % text["full_attention_interval"] == 0)
            shapes |= {f"{outer}model.layers.{number}.{name}": shape for name, shape in block.items()}
        return shapes

    def _block(self, *, full: bool) -> Shapes:
        text = self.text
        size = text["hidden_size"]
        mixer = _attention(text) if full else _gated_delta(text, fused="text_config" not in self.config)
        norms = {"input_layernorm.weight": (size,), "post_attention_layernorm.weight": (size,)}
        if "num_experts" not in text:
            return norms | mixer | _mlp("mlp", size, text["intermediate_size"])
        inner, count = text["moe_intermediate_size"], text["num_experts"]
        routed = {name: (count, *shape) for name, shape in _mlp("mlp.switch_mlp", size, inner).items()}
        shared = _mlp("mlp.shared_expert", size, text["shared_expert_intermediate_size"])
        routers = {"mlp.gate.weight": (count, size), "mlp.shared_expert_gate.weight": (1, size)}
        return norms | mixer | routed | shared | routers


QWEN3_5 = Tiny(
    {
        "model_type": "qwen3_5",
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "text_config": {**_TEXT, "model_type": "qwen3_5_text", "rope_parameters": _ROPE},
    }
)
QWEN3_5_MOE = Tiny(
    {
        "model_type": "qwen3_5_moe",
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "text_config": {
            **_TEXT,
            **_EXPERTS,
            "model_type": "qwen3_5_moe_text",
            "rope_parameters": _ROPE,
        },
    },
    published="fused",
)
QWEN3_NEXT = Tiny(
    {
        **_TEXT,
        **_EXPERTS,
        **_ALL_SPARSE,
        "model_type": "qwen3_next",
        "architectures": ["Qwen3NextForCausalLM"],
        "rope_theta": 10000,
        "partial_rotary_factor": 0.25,
    }
)


def is_shifted(name: str) -> bool:
    """Whether a tensor is published minus one: all gains but those inside the gated-delta layers."""
    return "norm" in name.split(".")[-2] and "linear_attn" not in name


def _attention(text: Mapping[str, Any]) -> Shapes:
    size, width = text["hidden_size"], text["head_dim"]
    queries, keys = text["num_attention_heads"] * width, text["num_key_value_heads"] * width
    return {
        "self_attn.q_proj.weight": (2 * queries, size),
        "self_attn.k_proj.weight": (keys, size),
        "self_attn.v_proj.weight": (keys, size),
        "self_attn.o_proj.weight": (size, queries),
        "self_attn.q_norm.weight": (width,),
        "self_attn.k_norm.weight": (width,),
    }


def _gated_delta(text: Mapping[str, Any], *, fused: bool) -> Shapes:
    """Return the shapes of a recurrent layer; Qwen3-Next fuses its input projections in two."""
    size, heads, width = text["hidden_size"], text["linear_num_value_heads"], text["linear_value_head_dim"]
    keys, values = text["linear_num_key_heads"] * text["linear_key_head_dim"], heads * width
    channels = 2 * keys + values
    separate = {"in_proj_qkv": channels, "in_proj_z": values, "in_proj_b": heads, "in_proj_a": heads}
    rows = {"in_proj_qkvz": channels + values, "in_proj_ba": 2 * heads} if fused else separate
    return {
        **{f"linear_attn.{name}.weight": (count, size) for name, count in rows.items()},
        "linear_attn.conv1d.weight": (channels, text["linear_conv_kernel_dim"], 1),
        "linear_attn.A_log": (heads,),
        "linear_attn.dt_bias": (heads,),
        "linear_attn.norm.weight": (width,),
        "linear_attn.out_proj.weight": (size, values),
    }


def _mlp(path: str, size: int, inner: int) -> Shapes:
    return {
        f"{path}.gate_proj.weight": (inner, size),
        f"{path}.up_proj.weight": (inner, size),
        f"{path}.down_proj.weight": (size, inner),
    }


def _published_experts(
    published: str, array: mx.array, converted: Mapping[str, mx.array], name: str, experts: Experts
) -> dict[str, mx.array]:
    if experts == "numbered":
        return {published.replace("switch_mlp", f"experts.{number}"): one for number, one in enumerate(array)}
    path, _, projection = published.removesuffix(".weight").rpartition(".")
    path = path.replace("switch_mlp", "experts")
    if projection == "down_proj":
        return {f"{path}.down_proj": array}
    if projection == "up_proj":
        return {}
    up = converted[name.replace("gate_proj", "up_proj")]
    return {f"{path}.gate_up_proj": mx.concatenate([array, up], axis=1)}


def _values(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if name.endswith("A_log"):
        return generator.uniform(-2, 1, shape)
    if name.endswith("dt_bias"):
        return generator.normal(0, 0.5, shape)
    if len(shape) == 1:
        return np.round(generator.normal(1, 0.3, shape) * 256) / 256
    if "conv1d" in name:
        return generator.normal(0, 0.5, shape)
    spread = 3.0 if "lm_head" in name else 1.5
    scale = 1.0 if "embed_tokens" in name else spread / np.sqrt(shape[-1])
    return generator.normal(0, scale, shape)
