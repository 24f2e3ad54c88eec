"""An MTP head: one transformer block over the joined embedding of t+1 and hidden of t."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx import nn

from mtplx_engine.models.wiring import Concat, Wiring


class MTPHead(nn.Module):
    """A head whose block is one of its target's own kind; families say how keys and values are made.

    Args:
        block: Attention block of mlx-lm: `self_attn`, `input_layernorm`, called with (inputs, mask, cache).
        size: H.
        eps: Of the norms.
        wiring: How it is connected.
    """

    def __init__(self, block: nn.Module, size: int, eps: float, wiring: Wiring) -> None:
        super().__init__()
        self.pre_fc_norm_embedding = nn.RMSNorm(size, eps=eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(size, eps=eps)
        self.fc = nn.Linear(2 * size, size, bias=False)
        self.layers = [block]
        self.norm = nn.RMSNorm(size, eps=eps)
        self._concat = wiring.concat

    def inputs(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """Join embeddings of the tokens t+1 and hiddens of t, both [m, H], into block inputs [1, m, H]."""
        halves = [self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)]
        if self._concat is Concat.HIDDEN_FIRST:
            halves.reverse()
        fused: mx.array = self.fc(mx.concatenate(halves, axis=-1))[None]
        return fused

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns the hiddens [m, H] that the next step takes."""
        hidden: mx.array = self.norm(self.block_output(inputs, cache))
        return hidden

    def block_output(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] before the head's norm."""
        mask = cache.make_mask(inputs.shape[1], return_array=False, window_size=None)
        hidden: mx.array = self.layers[0](inputs, mask, cache)[0]
        return hidden

    def readout(self, hidden: mx.array) -> mx.array:
        """Turn hiddens [m, H] of `__call__` into what the output head reads; here they are that already."""
        return hidden

    def remember(self, inputs: mx.array, cache: Any) -> None:
        """Write only keys and values of inputs [1, m, H]: all that history needs."""
        block = self.layers[0]
        cache.update_and_fetch(*self.keys_values(block.input_layernorm(inputs), cache.offset))

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return what the block's attention caches for its inputs [1, m, H], the first at position `offset`."""
        raise NotImplementedError
