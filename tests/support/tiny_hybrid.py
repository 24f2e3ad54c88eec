"""Tiny random hybrid models: mlx-lm's Qwen3.5 and Qwen3-Next, three gated-delta layers to one of full attention."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models import qwen3_5, qwen3_next

from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models.families import hybrid
from mtplx_engine.models.gated_delta import use_tapes
from mtplx_engine.models.manifest import Wiring
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from mlx import nn

    from mtplx_engine.models.loader import LoadedModel


VOCABULARY = 50
_SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "intermediate_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 6,
    "linear_conv_kernel_dim": 4,
    "rms_norm_eps": 1e-6,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 512,
    "full_attention_interval": 4,
    "tie_word_embeddings": False,
}
_EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "decoder_sparse_step": 1,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
_FAMILIES = {"qwen3_5": hybrid.QWEN3_5, "qwen3_next": hybrid.QWEN3_NEXT}
KINDS = tuple(_FAMILIES)


def tiny_hybrid(kind: str, *, taped: bool = True, vocabulary: int = VOCABULARY) -> nn.Module:
    """Make a random model in float32; without `taped` its layers are mlx-lm's own."""
    sizes = {**_SIZES, "vocab_size": vocabulary}
    if kind == "qwen3_5":
        args: Any = qwen3_5.ModelArgs(kind, {"model_type": kind, **sizes})
        model: nn.Module = qwen3_5.Model(args)
        args = model.language_model.args
    else:
        rope = {"rope_theta": 100.0, "partial_rotary_factor": 0.5, "mlp_only_layers": []}
        args = qwen3_next.ModelArgs(model_type=kind, **sizes, **_EXPERTS, **rope)
        model = qwen3_next.Model(args)
    if taped:
        use_tapes(model.layers, args)
    model.eval()
    _randomise(model, 0)
    return model


def hybrid_target(kind: str, vocabulary: int) -> Target:
    """Make a random model and the target over it."""
    return Target(_FAMILIES[kind], tiny_hybrid(kind, vocabulary=vocabulary), vocabulary)


def hybrid_head_drafter(kind: str, target: Target, *, spread: float = 1.0) -> MTPDrafter:
    """Put a random head on a target of `hybrid_target`; `spread` scales its logits."""
    text = target.model.get("language_model", target.model)
    head = _FAMILIES[kind].new_head(dataclasses.asdict(text.args), Wiring())
    _randomise(head, 1)
    project = target.projection(None)
    return MTPDrafter(head, target.embed, lambda hidden: project(hidden) * spread, None, target.vocabulary)


def hybrid_chat_model(model: LoadedModel, kind: str) -> LoadedModel:
    """Return a loaded model with a tiny hybrid and a random head of its kind in the place of its own."""
    target = hybrid_target(kind, model.target.vocabulary)
    return dataclasses.replace(model, target=target, new_drafter=lambda: hybrid_head_drafter(kind, target))


def _randomise(module: nn.Module, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = []
    for name, value in sorted(tree_flatten(module.parameters())):
        scale = 1.0 if "embed" in name or value.ndim == 1 else 1.5 / math.sqrt(value.shape[-1])
        middle = 1.0 if "norm" in name else 0.0
        weights.append((name, mx.array(generator.normal(middle, scale, value.shape), mx.float32)))
    module.load_weights(weights)
    mx.eval(module.parameters())


def random_ids(count: int, seed: int = 0) -> list[int]:
    """Token ids, the same for the same seed."""
    return np.random.default_rng(seed).integers(0, VOCABULARY, count).tolist()
