"""DeepSeek-V3 and R1, Kimi-K2: latent attention, routed experts, one appended layer as the drafting head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlx_lm.models import deepseek_v3

from mtplx_engine.models.families.appended import AppendedFamily, LatentAttention, LatentHead, LatentModel

if TYPE_CHECKING:
    import mlx.core as mx


class Attention(LatentAttention, deepseek_v3.DeepseekV3Attention):
    """Attends over latents at every width."""


class Model(LatentModel, deepseek_v3.Model):
    """mlx-lm's model with that attention."""

    attention = Attention


class Head(LatentHead):
    """A head that hands its block's output on to the next step as it is; only the output head reads it normed."""

    layer = deepseek_v3.DeepseekV3DecoderLayer
    attention = Attention

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] before the head's norm."""
        return self.block_output(inputs, cache)

    def readout(self, hidden: mx.array) -> mx.array:
        """Norm hiddens [m, H] for the output head."""
        rows: mx.array = self.norm(hidden)
        return rows


FAMILY = AppendedFamily(Model, deepseek_v3.ModelArgs, deepseek_v3.Model, Head, array_mask=True)
