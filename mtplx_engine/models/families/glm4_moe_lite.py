"""GLM-4.7-Flash: latent attention, routed experts, one appended layer as the drafting head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_lm.models import glm4_moe_lite

from mtplx_engine.models.families.appended import AppendedFamily
from mtplx_engine.models.families.appended_names import without_head
from mtplx_engine.models.families.latent_attention import LatentAttention, LatentHead

if TYPE_CHECKING:
    import mlx.core as mx

    from mtplx_engine.models.wiring import Wiring


class Attention(LatentAttention, glm4_moe_lite.Glm4MoeLiteAttention):
    """Attends over latents at every width."""


class Model(glm4_moe_lite.Model):
    """mlx-lm's model with that attention."""

    def __init__(self, args: glm4_moe_lite.ModelArgs) -> None:
        super().__init__(args)
        for block in self.layers:
            block.self_attn = Attention(args)

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head and convert the rest."""
        converted: dict[str, mx.array] = super().sanitize(without_head(weights, self.args.num_hidden_layers))
        return converted


class Head(LatentHead):
    """A head that hands its normed output on to the next step."""

    def __init__(self, args: glm4_moe_lite.ModelArgs, wiring: Wiring) -> None:
        block = glm4_moe_lite.Glm4MoeLiteDecoderLayer(args, args.num_hidden_layers)
        block.self_attn = Attention(args)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)


FAMILY = AppendedFamily(Model, glm4_moe_lite.ModelArgs, glm4_moe_lite.Model, Head, array_mask=True)
