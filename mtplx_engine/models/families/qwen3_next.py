"""Qwen3-Next."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mlx_lm.models import qwen3_next

from mtplx_engine.models.families.hybrid import HybridFamily, without_head
from mtplx_engine.models.gated_delta import use_tapes

if TYPE_CHECKING:
    from collections.abc import Callable

    import mlx.core as mx
    from mlx import nn


class Model(qwen3_next.Model):
    """mlx-lm's model with taped layers."""

    def __init__(self, args: qwen3_next.ModelArgs) -> None:
        super().__init__(args)
        use_tapes(self.layers, args)

    @property
    def cast_predicate(self) -> Callable[[str], bool]:
        """Which parameters may be cast; rounding the decay would add up over a long text."""
        return lambda path: not path.endswith("A_log")

    def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head and convert the rest; numbered experts tell mlx-lm that the layout is the original."""
        converted: dict[str, mx.array] = super().sanitize(without_head(weights))
        return converted


def _block(args: qwen3_next.ModelArgs) -> nn.Module:
    """Make a full-attention layer; the head's has experts whichever layers of the trunk are dense."""
    sparse = dataclasses.replace(args, mlp_only_layers=[], decoder_sparse_step=1)
    block: nn.Module = qwen3_next.Qwen3NextDecoderLayer(sparse, args.full_attention_interval - 1)
    return block


FAMILY = HybridFamily(Model, qwen3_next.ModelArgs, qwen3_next.ModelArgs, _block)
