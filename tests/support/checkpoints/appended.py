"""Tiny random checkpoints of the families whose head is a layer behind the trunk's last, in both layouts.

"Converted" is mlx-lm's layout: experts stacked, the key and value halves of `kv_b_proj` apart and one transposed.
"Original" is the published one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_PROJECTIONS = ("gate_proj", "up_proj", "down_proj")

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Tiny:
    """A family's tiny checkpoint.

    Attributes:
        config: Its config.json.
        attention: Gives the shapes of one layer's `self_attn`, converted, from a configuration.
    """

    config: Mapping[str, Any]
    attention: Callable[[Mapping[str, Any]], Shapes]

    @property
    def head_prefix(self) -> str:
        return f"model.layers.{self.config['num_hidden_layers']}."

    def converted(self, seed: int = 0) -> dict[str, mx.array]:
        """Make the tensors in the converted layout, head included, in float32."""
        generator = np.random.default_rng(seed)
        return {
            name: mx.array(_values(name, shape, generator), mx.float32)
            for name, shape in sorted(self._shapes().items())
        }

    def original(self, converted: Mapping[str, mx.array], *, repeats: bool) -> dict[str, mx.array]:
        """Lay converted tensors out as published.

        Args:
            converted: From `converted`, unpacked.
            repeats: Whether the head repeats embedding and output head.
        """
        tensors: dict[str, mx.array] = {}
        for name, array in converted.items():
            if ".switch_mlp." in name:
                experts = {name.replace("switch_mlp", f"experts.{i}"): one for i, one in enumerate(array)}
                tensors |= experts
            elif ".embed_q." in name:
                values = converted[name.replace("embed_q", "unembed_out")]
                both = mx.concatenate([array.swapaxes(1, 2), values], axis=1)
                tensors[name.replace("embed_q", "kv_b_proj")] = both.reshape(-1, both.shape[-1])
            elif ".unembed_out." not in name:
                tensors[name] = array
        if repeats:
            tensors[f"{self.head_prefix}embed_tokens.weight"] = converted["model.embed_tokens.weight"]
            tensors[f"{self.head_prefix}shared_head.head.weight"] = converted["lm_head.weight"]
        return {name: mx.contiguous(array) for name, array in tensors.items()}

    def apart(self, tensors: Mapping[str, mx.array]) -> tuple[dict[str, mx.array], dict[str, mx.array]]:
        """Return the trunk, and the head as a repository of its own names it, with the ends that it repeats."""
        trunk, head = {}, {}
        for name, array in tensors.items():
            raw = name.removeprefix(self.head_prefix)
            if raw == name:
                trunk[name] = array
            elif raw.startswith(("enorm.", "hnorm.", "eh_proj.", "shared_head.norm.")):
                head[f"model.{raw.replace('shared_head.', 'shared_head_')}"] = array
            else:
                head[f"model.mtp_block.{raw}"] = array
        return trunk, head | {name: tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight")}

    def _shapes(self) -> Shapes:
        config = self.config
        size, vocabulary, layers = (config[key] for key in ("hidden_size", "vocab_size", "num_hidden_layers"))
        shapes: Shapes = {
            "model.embed_tokens.weight": (vocabulary, size),
            "model.norm.weight": (size,),
            "lm_head.weight": (vocabulary, size),
            f"{self.head_prefix}enorm.weight": (size,),
            f"{self.head_prefix}hnorm.weight": (size,),
            f"{self.head_prefix}eh_proj.weight": (size, 2 * size),
            f"{self.head_prefix}shared_head.norm.weight": (size,),
        }
        for number in range(layers + 1):
            dense = number < config["first_k_dense_replace"]
            parts = {
                "input_layernorm.weight": (size,),
                "post_attention_layernorm.weight": (size,),
                **{f"self_attn.{name}": shape for name, shape in self.attention(config).items()},
                **(_mlp("mlp", size, config["intermediate_size"]) if dense else _experts(config)),
            }
            shapes |= {f"model.layers.{number}.{name}": shape for name, shape in parts.items()}
        return shapes


def latent_attention(config: Mapping[str, Any]) -> Shapes:
    """Return the shapes of multi-head latent attention."""
    size, heads = config["hidden_size"], config["num_attention_heads"]
    query_rank, rank = config["q_lora_rank"], config["kv_lora_rank"]
    plain, rotary, value = (config[key] for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    return {
        "q_a_proj.weight": (query_rank, size),
        "q_a_layernorm.weight": (query_rank,),
        "q_b_proj.weight": (heads * (plain + rotary), query_rank),
        "kv_a_proj_with_mqa.weight": (rank + rotary, size),
        "kv_a_layernorm.weight": (rank,),
        "embed_q.weight": (heads, rank, plain),
        "unembed_out.weight": (heads, value, rank),
        "o_proj.weight": (size, heads * value),
    }


def _mlp(path: str, size: int, inner: int) -> Shapes:
    return {f"{path}.{name}.weight": (size, inner) if name == "down_proj" else (inner, size) for name in _PROJECTIONS}


def _experts(config: Mapping[str, Any]) -> Shapes:
    size, count, inner = (config[key] for key in ("hidden_size", "n_routed_experts", "moe_intermediate_size"))
    stacked = {name: (count, *shape) for name, shape in _mlp("mlp.switch_mlp", size, inner).items()}
    shared = _mlp("mlp.shared_experts", size, inner * config["n_shared_experts"])
    router = {"mlp.gate.weight": (count, size), "mlp.gate.e_score_correction_bias": (count,)}
    return {**stacked, **shared, **router}


def _values(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if name.endswith("bias"):
        return generator.normal(0, 0.2, shape)
    if len(shape) == 1:
        return generator.normal(1, 0.3, shape)
    scale = 1.0 if "embed_tokens" in name else 1.5 / np.sqrt(shape[-1])
    return generator.normal(0, scale, shape)
