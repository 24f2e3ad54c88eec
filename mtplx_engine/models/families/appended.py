"""GLM-4.5 to 4.7, GLM-4.7-Flash, DeepSeek-V3 and R1, Kimi-K2: the MTP head is one more layer behind the trunk's.

All of them route experts. GLM-4.5 to 4.7 have grouped attention, the others multi-head latent attention
(DeepSeek-V2, arXiv:2405.04434, section 2.1).
"""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx_lm.models import deepseek_v3, glm4_moe, glm4_moe_lite
from mlx_lm.models.base import BaseModelArgs, create_attention_mask, scaled_dot_product_attention

from mtplx_engine.models.families.appended_names import in_head
from mtplx_engine.models.families.family import EmbeddingAndHead, MTPHead
from mtplx_engine.models.manifest import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mlx import nn


_LAYER = re.compile(r"model\.layers\.(\d{1,9})\.")


class AppendedModel:
    """Mixin before one of mlx-lm's model classes; refuses tensors that those would drop silently."""

    def sanitize(self: Any, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Convert the trunk's tensors, without the head's; ValueError names a tensor behind the last layer."""
        for name in weights:
            match = _LAYER.match(name)
            if match and int(match[1]) >= self.args.num_hidden_layers:
                raise ValueError(f"{name} is unknown")
        converted: dict[str, mx.array] = super().sanitize(weights)  # type: ignore[misc]
        return converted


class AppendedHead(MTPHead):
    """An MTP head that is one decoder layer of its target's kind."""

    @property
    def cast_predicate(self) -> Callable[[str], bool]:
        """Which parameters may be cast, as for the trunk: rounding the router's bias would change its choices."""
        return lambda path: "e_score_correction_bias" not in path


@dataclasses.dataclass(frozen=True, slots=True)
class AppendedFamily:
    """A family whose MTP head is an appended layer; see `Family` for its methods.

    Attributes:
        model: The model class, with the head's attention.
        stock: mlx-lm's own model class, whose `sanitize` converts the original layout.
        head: Makes the head from arguments and wiring; it decides which hidden goes into the next step.
        array_mask: Whether attention takes its mask as an array.
    """

    model: type[nn.Module]
    args: type[BaseModelArgs]
    stock: Any
    head: Callable[[Any, Wiring], MTPHead]
    array_mask: bool

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        return self.model, self.args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        return EmbeddingAndHead(model.model.embed_tokens, model.model.norm, model.lm_head)

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
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
        return self.head(self.args.from_dict(config), wiring)


class LatentAttention:
    """Mixin before one of mlx-lm's attention classes, whose weights and names it uses; attends over latents always.

    Its cache holds the latents [1, 1, n, kv_lora_rank] as keys and the rotated position keys [1, 1, n, rope_dim],
    which all heads share, as values.
    """

    def __call__(self: Any, x: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        """Append rows x [1, m, H] to the cache, which must be there, and attend where `mask` is True."""
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
    """Mixin before an mlx-lm model class; its layers get `attention`, a class with `LatentAttention` in front."""

    attention: Any

    def __init__(self: Any, args: Any) -> None:
        super().__init__(args)  # type: ignore[call-arg]
        for block in self.layers:
            block.self_attn = self.attention(args)


class LatentHead(AppendedHead):
    """An appended head whose block, of mlx-lm's class `layer`, has the model's latent `attention`."""

    layer: Any
    attention: Any

    def __init__(self, args: Any, wiring: Wiring) -> None:
        block = self.layer(args, args.num_hidden_layers)
        block.self_attn = self.attention(args)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)

    def block_output(self, inputs: mx.array, cache: Any) -> mx.array:
        mask = cache.make_mask(inputs.shape[1], return_array=True, window_size=None)
        hidden: mx.array = self.layers[0](inputs, mask, cache)[0]
        return hidden

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        cached: tuple[mx.array, mx.array] = self.layers[0].self_attn.keys_values(normed, offset)
        return cached


class Glm4MoeModel(AppendedModel, glm4_moe.Model):
    """GLM-4.5, 4.6 and 4.7."""


class Glm4MoeHead(AppendedHead):
    """A head that hands its normed output on to the next step."""

    def __init__(self, args: glm4_moe.ModelArgs, wiring: Wiring) -> None:
        block = glm4_moe.DecoderLayer(args, args.num_hidden_layers)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.n_kv_heads, -1)
        keys = attention.k_proj(normed).reshape(shape)
        if attention.use_qk_norm:
            keys = attention.k_norm(keys)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys.transpose(0, 2, 1, 3), offset=offset), values


class Glm4MoeLiteAttention(LatentAttention, glm4_moe_lite.Glm4MoeLiteAttention):
    """Latent attention of GLM-4.7-Flash."""


class Glm4MoeLiteModel(LatentModel, glm4_moe_lite.Model):
    """GLM-4.7-Flash."""

    attention = Glm4MoeLiteAttention


class Glm4MoeLiteHead(LatentHead):
    """A head that hands its normed output on to the next step."""

    layer = glm4_moe_lite.Glm4MoeLiteDecoderLayer
    attention = Glm4MoeLiteAttention


class DeepseekV3Attention(LatentAttention, deepseek_v3.DeepseekV3Attention):
    """Latent attention of DeepSeek-V3 and Kimi-K2."""


class DeepseekV3Model(LatentModel, deepseek_v3.Model):
    """DeepSeek-V3 and R1, Kimi-K2."""

    attention = DeepseekV3Attention


class DeepseekV3Head(LatentHead):
    """A head that hands its block's output on to the next step as it is; only the output head reads it normed."""

    layer = deepseek_v3.DeepseekV3DecoderLayer
    attention = DeepseekV3Attention

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        return self.block_output(inputs, cache)

    def readout(self, hidden: mx.array) -> mx.array:
        rows: mx.array = self.norm(hidden)
        return rows


GLM4_MOE = AppendedFamily(Glm4MoeModel, glm4_moe.ModelArgs, glm4_moe.Model, Glm4MoeHead, array_mask=False)
GLM4_MOE_LITE = AppendedFamily(
    Glm4MoeLiteModel, glm4_moe_lite.ModelArgs, glm4_moe_lite.Model, Glm4MoeLiteHead, array_mask=True
)
DEEPSEEK_V3 = AppendedFamily(DeepseekV3Model, deepseek_v3.ModelArgs, deepseek_v3.Model, DeepseekV3Head, array_mask=True)
