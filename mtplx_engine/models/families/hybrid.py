"""Families of gated-delta and full-attention layers, whose head is one gated full-attention layer (`mtp.*`).

The head reads the hidden after the final norm and hands on its own after `mtp.norm`; embedding and output head are
the target's. Gains of norms are published as gain minus one, and convolutions as [C, 1, K]; converted checkpoints
hold gains and [C, K, 1].
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from mlx_lm.models.base import create_attention_mask

from mtplx_engine.models import head_source
from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead, stacked
from mtplx_engine.models.manifest import Norms, Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mlx.core as mx
    from mlx import nn


class HybridHead(MTPHead):
    """A head of this kind."""

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return keys and values of the block's attention."""
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.num_key_value_heads, -1)
        keys = attention.k_norm(attention.k_proj(normed).reshape(shape)).transpose(0, 2, 1, 3)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys, offset=offset), values


@dataclasses.dataclass(frozen=True, slots=True)
class HybridFamily:
    """A family of this kind; see `Family` for its methods.

    Attributes:
        model: The model class, with taped layers; it leaves out the head.
        model_args: What `model` is made from.
        text_args: The class of the language model's own arguments.
        block: Makes one full-attention decoder layer from them.
    """

    model: type[nn.Module]
    model_args: type
    text_args: Any
    block: Callable[[Any], nn.Module]

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        """Return the model and its arguments for `load_model`."""
        return self.model, self.model_args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        """Return embedding, final norm and output head."""
        text = model.get("language_model", model)
        embedding = text.model.embed_tokens
        return EmbeddingAndHead(
            embedding, text.model.norm, embedding if text.args.tie_word_embeddings else text.lm_head
        )

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M] through the trunk; returns [M, H] before the final norm."""
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
        """Make a head for a model with this configuration."""
        args = self.text_args.from_dict(
            copy.deepcopy(dict(config))
        )  # it changes the rope settings it is given
        return HybridHead(self.block(args), args.hidden_size, args.rms_norm_eps, wiring)


def without_head(weights: Mapping[str, mx.array]) -> dict[str, mx.array]:
    """Return the tensors of a trunk.

    Raises:
        ValueError: A tensor seems to be a head's, but is where no head is looked for; mlx-lm would drop it.
    """
    rest = {name: array for name, array in weights.items() if not name.startswith(head_source.HEAD_PREFIXES)}
    if stray := sorted(name for name in rest if "mtp." in name):
        raise ValueError(f"{stray[0]}: unknown")
    return rest
