"""Families whose MTP heads are appended as further layers."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx_lm.models.base import BaseModelArgs, create_attention_mask, scaled_dot_product_attention

from mtplx_engine.models.families.appended_names import in_head, without_head
from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead
from mtplx_engine.models.manifest import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mlx import nn


class AppendedModel:
    """Goes in front of one of mlx-lm's model classes."""

    def sanitize(self: Any, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head, whose number some of mlx-lm's classes take to be fixed, and convert the rest."""
        trunk = without_head(weights, self.args.num_hidden_layers)
        converted: dict[str, mx.array] = super().sanitize(trunk)  # type: ignore[misc]
        return converted


class AppendedHead(MTPHead):
    """A head of this kind."""

    @property
    def cast_predicate(self) -> Callable[[str], bool]:
        """Which parameters may be cast, as for the trunk: rounding the router's bias would change its choices."""
        return lambda path: "e_score_correction_bias" not in path


@dataclasses.dataclass(frozen=True, slots=True)
class AppendedFamily:
    """A family of this kind; see `Family` for its methods.

    Attributes:
        model: The model class; it leaves out what is behind its last layer, and has the attention that the head has.
        args: The class of its arguments.
        stock: mlx-lm's own model class, whose `sanitize` converts the original layout.
        head: Makes the head from arguments and wiring. Which hidden goes into the next step is its own affair.
        array_mask: Whether attention wants its mask as an array, to add to it.
    """

    model: type[nn.Module]
    args: type[BaseModelArgs]
    stock: Any
    head: Callable[[Any, Wiring], MTPHead]
    array_mask: bool

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        """Return the model and its arguments for `load_model`."""
        return self.model, self.args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        """Return embedding, final norm and output head."""
        return EmbeddingAndHead(model.model.embed_tokens, model.model.norm, model.lm_head)

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M] through the trunk; returns [M, H] before the final norm."""
        hidden = model.model.embed_tokens(tokens[None])
        mask = create_attention_mask(hidden, layers[0], return_array=self.array_mask)
        for block, cache in zip(model.model.layers, layers, strict=True):
            hidden = block(hidden, mask, cache)
        rows: mx.array = hidden[0]
        return rows

    def head_weights(self, raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:
        """Rename to the head's names, unpack fp8, stack the experts, split `kv_b_proj`."""
        renamed = in_head(raw)
        args = dataclasses.replace(self.args.from_dict(config), num_hidden_layers=1)
        only_layer = {f"model.{name}": array for name, array in renamed.items()}
        try:
            converted: dict[str, mx.array] = self.stock.sanitize(SimpleNamespace(args=args), only_layer)
        except (KeyError, ValueError):
            return renamed  # experts are missing or do not fit together: the caller names what it lacks
        return {name.removeprefix("model."): array for name, array in converted.items()}

    def wiring(self, shapes: Mapping[str, tuple[int, ...]]) -> Wiring:  # noqa: ARG002 - published once
        """Return the published wiring: hiddens after the final norm, embedding first."""
        return Wiring()

    def new_head(self, config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
        """Make a head for a model with this configuration."""
        return self.head(self.args.from_dict(config), wiring)


class LatentAttention:
    """Goes in front of one of mlx-lm's attention classes, whose weights and names it uses.

    Its cache holds the latents [1, 1, n, kv_lora_rank] as keys and the rotated position keys [1, 1, n, rope_dim],
    which all heads share, as values.
    """

    def __call__(self: Any, x: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        """Append rows x [1, m, H] to the cache, which must be there, and attend; `mask` is True where one looks."""
        length, offset = x.shape[1], cache.offset
        latents, position_keys = cache.update_and_fetch(*self.keys_values(x, offset))
        queries = self._queries(x).reshape(1, length, self.num_heads, -1).transpose(0, 2, 1, 3)
        queries, position_queries = mx.split(queries, [self.qk_nope_head_dim], axis=-1)
        scores = (self.rope(position_queries, offset) * self.scale) @ position_keys.swapaxes(-1, -2)
        if mask is not None:
            scores = mx.where(mask, scores, mx.array(mx.finfo(scores.dtype).min, scores.dtype))
        mixed = scaled_dot_product_attention(
            self.embed_q(queries), latents, latents, cache=cache, scale=self.scale, mask=scores
        )
        merged = self.unembed_out(mixed).transpose(0, 2, 1, 3).reshape(1, length, -1)
        output: mx.array = self.o_proj(merged)
        return output

    def keys_values(self: Any, x: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return latents and rotated position keys of rows x [1, m, H], the first at position `offset`."""
        latents, position_keys = mx.split(self.kv_a_proj_with_mqa(x), [self.kv_lora_rank], axis=-1)
        return self.kv_a_layernorm(latents)[:, None], self.rope(position_keys[:, None], offset)

    def _queries(self: Any, x: mx.array) -> mx.array:
        if self.q_lora_rank is None:
            queries: mx.array = self.q_proj(x)
        else:
            queries = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        return queries


class LatentModel(AppendedModel):
    """Goes in front of one of mlx-lm's model classes, whose layers get the attention.

    Attributes:
        attention: One of mlx-lm's attention classes with `LatentAttention` in front.
    """

    attention: Any

    def __init__(self: Any, args: Any) -> None:
        super().__init__(args)  # type: ignore[call-arg]
        for block in self.layers:
            block.self_attn = self.attention(args)


class LatentHead(AppendedHead):
    """A head whose block has that attention.

    Attributes:
        layer: mlx-lm's class of the target's decoder layers.
        attention: As in the model.
    """

    layer: Any
    attention: Any

    def __init__(self, args: Any, wiring: Wiring) -> None:
        block = self.layer(args, args.num_hidden_layers)
        block.self_attn = self.attention(args)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)

    def block_output(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] before the head's norm."""
        mask = cache.make_mask(inputs.shape[1], return_array=True, window_size=None)
        hidden: mx.array = self.layers[0](inputs, mask, cache)[0]
        return hidden

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return latents and position keys."""
        cached: tuple[mx.array, mx.array] = self.layers[0].self_attn.keys_values(normed, offset)
        return cached
