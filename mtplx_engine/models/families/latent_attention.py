"""Multi-head latent attention (MLA) in one form for every width.

mlx-lm attends over the latents when one row comes and over unpacked keys and values when more come. The two round
differently, so the rows of a verify step would not have the bits of plain decoding, nor a cache those of another way
to cut the same tokens. Here every row attends over the latents: the cheap form for the few rows of a verify step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx_lm.models.base import scaled_dot_product_attention

from mtplx_engine.models.families.appended import AppendedHead, AppendedModel

if TYPE_CHECKING:
    from mtplx_engine.models.wiring import Wiring


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
