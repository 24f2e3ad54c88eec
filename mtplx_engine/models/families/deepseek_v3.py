"""DeepSeek-V3 and R1: latent attention, routed experts, one appended layer as the drafting head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlx_lm.models import deepseek_v3

from mtplx_engine.models.families.appended import AppendedFamily
from mtplx_engine.models.families.appended_names import without_head
from mtplx_engine.models.families.latent_attention import LatentAttention, LatentHead

if TYPE_CHECKING:
    import mlx.core as mx

    from mtplx_engine.models.wiring import Wiring


class Attention(LatentAttention, deepseek_v3.DeepseekV3Attention):
    """Attends over latents at every width."""


class Model(deepseek_v3.Model):
    """mlx-lm's model with that attention."""

    def __init__(self, args: deepseek_v3.ModelArgs) -> None:
        super().__init__(args)
        for block in self.layers:
            block.self_attn = Attention(args)

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head, whose number mlx-lm takes to be 61, and convert the rest."""
        converted: dict[str, mx.array] = super().sanitize(without_head(weights, self.args.num_hidden_layers))
        return converted


class Head(LatentHead):
    """A head that hands its block's output on to the next step as it is; only the output head reads it normed."""

    def __init__(self, args: deepseek_v3.ModelArgs, wiring: Wiring) -> None:
        block = deepseek_v3.DeepseekV3DecoderLayer(args, args.num_hidden_layers)
        block.self_attn = Attention(args)
        super().__init__(block, args.hidden_size, args.rms_norm_eps, wiring)

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] before the head's norm."""
        return self.block_output(inputs, cache)

    def readout(self, hidden: mx.array) -> mx.array:
        """Norm hiddens [m, H] for the output head."""
        rows: mx.array = self.norm(hidden)
        return rows


FAMILY = AppendedFamily(Model, deepseek_v3.ModelArgs, deepseek_v3.Model, Head, array_mask=True)
