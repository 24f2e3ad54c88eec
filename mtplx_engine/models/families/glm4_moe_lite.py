"""GLM-4.7-Flash: latent attention, routed experts, one appended layer as the drafting head."""

from __future__ import annotations

from mlx_lm.models import glm4_moe_lite

from mtplx_engine.models.families.appended import AppendedFamily, LatentAttention, LatentHead, LatentModel


class Attention(LatentAttention, glm4_moe_lite.Glm4MoeLiteAttention):
    """Attends over latents at every width."""


class Model(LatentModel, glm4_moe_lite.Model):
    """mlx-lm's model with that attention."""

    attention = Attention


class Head(LatentHead):
    """A head that hands its normed output on to the next step."""

    layer = glm4_moe_lite.Glm4MoeLiteDecoderLayer
    attention = Attention


FAMILY = AppendedFamily(Model, glm4_moe_lite.ModelArgs, glm4_moe_lite.Model, Head, array_mask=True)
