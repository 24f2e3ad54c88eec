"""Qwen3.5, 3.6 and 3.8, dense and with experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_lm.models import qwen3_5, qwen3_5_moe

from mtplx_engine.models.families.family import stacked
from mtplx_engine.models.families.hybrid import HybridFamily, without_head
from mtplx_engine.models.gated_delta import use_tapes

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn


class Model(qwen3_5_moe.Model):
    """mlx-lm's language model with taped layers; its `sanitize` converts dense models as well."""

    def __init__(self, args: qwen3_5.ModelArgs) -> None:
        super().__init__(args)
        use_tapes(self.layers, self.language_model.args)

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head, stack numbered experts, and convert the rest."""
        trunk = stacked(without_head(weights), self.language_model.args.num_experts)
        converted: dict[str, mx.array] = super().sanitize(trunk)
        return converted


def _block(args: qwen3_5.TextModelArgs) -> nn.Module:
    block: nn.Module = qwen3_5.DecoderLayer(args, args.full_attention_interval - 1)
    return block


FAMILY = HybridFamily(Model, qwen3_5.ModelArgs, qwen3_5.TextModelArgs, _block)
