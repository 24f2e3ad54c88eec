"""Llama-type models and our plain heads for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlx import nn
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
from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.gemma4_text import logit_softcap
from mlx_lm.models.llama import Model, ModelArgs, TransformerBlock

from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead
from mtplx_engine.models.manifest import Wiring

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mlx.core as mx


def model_classes(config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG001 - one class for all
    """Return the model and its arguments for `load_model`."""
    return Model, ModelArgs


def ends(model: nn.Module) -> EmbeddingAndHead:
    """Return embedding, final norm and output head."""
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
    """One Llama block over concat(norm(embedding of t+1), norm(hidden of t)), output after its own norm.

    Args:
        args: The target's arguments; the block has the same sizes.
        wiring: How it is connected.
    """

    def __init__(self, args: ModelArgs, wiring: Wiring | None = None) -> None:
        super().__init__(TransformerBlock(args), args.hidden_size, args.rms_norm_eps, wiring or Wiring())

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return keys and values of the block's attention."""
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.n_kv_heads, -1)
        keys = attention.k_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys, offset=offset), values


def head_weights(raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:  # noqa: ARG001
    """Return the tensors as they are: our files have the head's own names."""
    return dict(raw)


def wiring(shapes: Mapping[str, tuple[int, ...]]) -> Wiring:  # noqa: ARG001 - our heads are all made alike
    """Return how our heads are connected."""
    return Wiring()


def new_head(config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
    """Make a head for a model with this configuration."""
    return LlamaMTPHead(ModelArgs.from_dict(config), wiring)


@dataclass(frozen=True, slots=True)
class PlainFamily:
    """A family without a head of ours; see `Trunk` for its methods.

    Attributes:
        model: The model class.
        args: The class of its arguments.
    """

    model: type[nn.Module]
    args: type

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        """Return the model and its arguments for `load_model`."""
        return self.model, self.args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        """Return embedding and output head; the norm is part of `hidden_states`, where no head reads in between."""
        language = _language_model(model)
        trunk = _trunk(language)
        embedding = trunk.embeddings if "embeddings" in trunk else trunk.embed_tokens
        output = language.lm_head if "lm_head" in language else embedding
        cap = getattr(language, "final_logit_softcapping", None)
        return EmbeddingAndHead(embedding, nn.Identity(), output if cap is None else _Capped(output, cap))

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M]; returns [M, H] after the final norm."""
        rows: mx.array = _trunk(_language_model(model))(tokens[None], cache=layers)[0]
        return rows


class _Capped(nn.Module):
    """An output head whose logits are bent to stay within +-cap."""

    def __init__(self, output: nn.Module, cap: float) -> None:
        super().__init__()
        self.output = output
        self.cap = cap

    def __call__(self, hidden: mx.array) -> mx.array:
        is_embedding = isinstance(self.output, nn.Embedding | nn.QuantizedEmbedding)
        logits = self.output.as_linear(hidden) if is_embedding else self.output(hidden)
        capped: mx.array = logit_softcap(self.cap, logits)
        return capped


def _language_model(model: nn.Module) -> Any:
    """Return the part with the text trunk and output head; models that also see and hear have it nested."""
    return model.language_model if "language_model" in model else model


def _trunk(language: Any) -> Any:
    """Return the layers with embedding and final norm; Nemotron-H has names of its own for them."""
    return language.backbone if "backbone" in language else language.model


DEEPSEEK_V32 = PlainFamily(deepseek_v32.Model, deepseek_v32.ModelArgs)
GEMMA4 = PlainFamily(gemma4.Model, gemma4.ModelArgs)
GEMMA4_TEXT = PlainFamily(gemma4_text.Model, gemma4_text.ModelArgs)
GLM_MOE_DSA = PlainFamily(glm_moe_dsa.Model, glm_moe_dsa.ModelArgs)
MIMO = PlainFamily(mimo.Model, mimo.ModelArgs)
MIMO_V2_FLASH = PlainFamily(mimo_v2_flash.Model, mimo_v2_flash.ModelArgs)
NEMOTRON_H = PlainFamily(nemotron_h.Model, nemotron_h.ModelArgs)
STEP3P5 = PlainFamily(step3p5.Model, step3p5.ModelArgs)
