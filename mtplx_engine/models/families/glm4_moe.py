"""GLM-4.5, 4.6 and 4.7: grouped attention, routed experts, one appended layer as the drafting head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_lm.models import glm4_moe

from mtplx_engine.models.families.appended import AppendedFamily, AppendedHead, AppendedModel

if TYPE_CHECKING:
    import mlx.core as mx

    from mtplx_engine.models.manifest import Wiring


class Model(AppendedModel, glm4_moe.Model):
    """mlx-lm's model."""


class Head(AppendedHead):
    """A head that hands its normed output on to the next step."""

    def __init__(self, args: glm4_moe.ModelArgs, wiring: Wiring) -> None:
        block = glm4_moe.DecoderLayer(args, args.num_hidden_layers)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return keys and values of the block's attention."""
        attention = self.layers[0].self_attn
        shape = (1, normed.shape[1], attention.n_kv_heads, -1)
        keys = attention.k_proj(normed).reshape(shape)
        if attention.use_qk_norm:
            keys = attention.k_norm(keys)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        return attention.rope(keys.transpose(0, 2, 1, 3), offset=offset), values


FAMILY = AppendedFamily(Model, glm4_moe.ModelArgs, glm4_moe.Model, Head, array_mask=False)
