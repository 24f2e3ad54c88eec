"""Qwen3.5, 3.6, 3.8 and Qwen3-Next: gated-delta and full-attention layers, dense or with experts.

Their MTP head (`mtp.*`) is one gated full-attention layer. It reads the hidden after the final norm and hands on its
own after `mtp.norm`; embedding and output head are the target's. Norm gains are published as gain minus one, and
convolutions as [C, 1, K]; converted checkpoints hold gains and [C, K, 1].
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from mlx_lm.models import qwen3_5, qwen3_5_moe, qwen3_next
from mlx_lm.models.base import create_attention_mask

from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead, stacked
from mtplx_engine.models.gated_delta import use_tapes
from mtplx_engine.models.manifest import Norms, Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mlx.core as mx
    from mlx import nn


class HybridHead(MTPHead):
    """The MTP head of a hybrid model."""

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.num_key_value_heads, -1)
        keys = attention.k_norm(attention.k_proj(normed).reshape(shape)).transpose(0, 2, 1, 3)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys, offset=offset), values


@dataclasses.dataclass(frozen=True, slots=True)
class HybridFamily:
    """A family of hybrid models; see `Family` for its methods.

    Attributes:
        model: The model class, with taped layers.
        block: Makes one full-attention decoder layer from the latter.
    """

    model: type[nn.Module]
    model_args: type
    text_args: Any
    block: Callable[[Any], nn.Module]

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        return self.model, self.model_args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        text = model.get("language_model", model)
        embedding = text.model.embed_tokens
        return EmbeddingAndHead(
            embedding, text.model.norm, embedding if text.args.tie_word_embeddings else text.lm_head
        )

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        trunk = model.model
        hidden = trunk.embed_tokens(tokens[None])
        mask = create_attention_mask(hidden, layers[trunk.fa_idx])
        for block, cache in zip(trunk.layers, layers, strict=True):
            hidden = block(hidden, None if block.is_linear else mask, cache)
        rows: mx.array = hidden[0]
        return rows

    def head_weights(self, raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:
        """Stack or split the experts; the other names are the head's own."""
        return stacked(raw, config.get("num_experts") or 0)

    def wiring(self, shapes: Mapping[str, tuple[int, ...]]) -> Wiring:
        """Return the published wiring; the layout of the convolutions tells how gains are stored."""
        convolutions = (shape for name, shape in shapes.items() if name.endswith("conv1d.weight"))
        is_original = any(shape[-1] != 1 for shape in convolutions)
        return Wiring(norms=Norms.PLUS_ONE if is_original else Norms.PLAIN)

    def new_head(self, config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
        args = self.text_args.from_dict(copy.deepcopy(dict(config)))  # changes the rope settings it is given
        return HybridHead(self.block(args), args.hidden_size, args.rms_norm_eps, wiring)


class Qwen35Model(qwen3_5_moe.Model):
    """mlx-lm's language model with taped layers; its `sanitize` converts dense models as well."""

    def __init__(self, args: qwen3_5.ModelArgs) -> None:
        super().__init__(args)
        use_tapes(self.layers, self.language_model.args)

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Stack numbered experts and convert the trunk's tensors, those of the head being left out already."""
        _check_no_head(weights)
        trunk = stacked(weights, self.language_model.args.num_experts)
        converted: dict[str, mx.array] = super().sanitize(trunk)
        return converted


def _qwen3_5_block(args: qwen3_5.TextModelArgs) -> nn.Module:
    block: nn.Module = qwen3_5.DecoderLayer(args, args.full_attention_interval - 1)
    return block


class Qwen3NextModel(qwen3_next.Model):
    """mlx-lm's model with taped layers."""

    def __init__(self, args: qwen3_next.ModelArgs) -> None:
        super().__init__(args)
        use_tapes(self.layers, args)

    @property
    def cast_predicate(self) -> Callable[[str], bool]:
        """Which parameters may be cast; the rounding error of the decay would add up over a long text."""
        return lambda path: not path.endswith("A_log")

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Convert the trunk's tensors, those of the head being left out already.

        Numbered experts tell mlx-lm that the layout is the original.
        """
        _check_no_head(weights)
        converted: dict[str, mx.array] = super().sanitize(weights)
        return converted


def _qwen3_next_block(args: qwen3_next.ModelArgs) -> nn.Module:
    """Make a full-attention layer; the head's has experts whichever layers of the trunk are dense."""
    sparse = dataclasses.replace(args, mlp_only_layers=[], decoder_sparse_step=1)
    block: nn.Module = qwen3_next.Qwen3NextDecoderLayer(sparse, args.full_attention_interval - 1)
    return block


QWEN3_5 = HybridFamily(Qwen35Model, qwen3_5.ModelArgs, qwen3_5.TextModelArgs, _qwen3_5_block)
QWEN3_NEXT = HybridFamily(Qwen3NextModel, qwen3_next.ModelArgs, qwen3_next.ModelArgs, _qwen3_next_block)


def _check_no_head(weights: Mapping[str, mx.array]) -> None:
    """Check that no tensor seems to be a head's: where no head is searched for, mlx-lm would drop it silently."""
    if strays := sorted(name for name in weights if "mtp." in name):
        raise ValueError(f"{strays[0]} is unknown")
