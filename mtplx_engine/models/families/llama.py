"""Llama models, and the MTP head that we train for them: one more Llama block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.llama import Model, ModelArgs, TransformerBlock

from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead
from mtplx_engine.models.manifest import Wiring

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mlx.core as mx
    from mlx import nn


def model_classes(config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG001 - one class for all
    return Model, ModelArgs


def ends(model: nn.Module) -> EmbeddingAndHead:
    trunk = model.model
    tied = model.args.tie_word_embeddings
    return EmbeddingAndHead(trunk.embed_tokens, trunk.norm, trunk.embed_tokens if tied else model.lm_head)


def hidden_states(model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
    """Forward tokens [M] through the trunk; returns [M, H] before the final norm."""
    trunk = model.model
    hidden = trunk.embed_tokens(tokens[None])
    full = create_attention_mask(hidden, layers[trunk.fa_idx])
    sliding = full
    if trunk.swa_idx is not None:
        sliding = create_attention_mask(hidden, layers[trunk.swa_idx], window_size=trunk.sliding_window)
    for block, cache in zip(trunk.layers, layers, strict=True):
        hidden = block(hidden, sliding if block.use_sliding else full, cache=cache)
    rows: mx.array = hidden[0]
    return rows


class LlamaMTPHead(MTPHead):
    """A Llama block over concat(norm(embedding of t+1), norm(hidden of t)), output after its own norm."""

    def __init__(self, args: ModelArgs, wiring: Wiring | None = None) -> None:
        super().__init__(TransformerBlock(args), args.hidden_size, args.rms_norm_eps, wiring or Wiring())

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.n_kv_heads, -1)
        keys = attention.k_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys, offset=offset), values


def head_weights(raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:  # noqa: ARG001
    """Return the tensors as they are: our files have the head's own names."""
    return dict(raw)


def wiring(shapes: Mapping[str, tuple[int, ...]]) -> Wiring:  # noqa: ARG001 - our heads are all made alike
    return Wiring()


def new_head(config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
    return LlamaMTPHead(ModelArgs.from_dict(config), wiring)
