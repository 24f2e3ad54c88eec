"""The two ends of a language model: the embedding, and the final norm with the output head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx
from mlx import nn

Projection = Callable[[mx.array], mx.array]
"""From hiddens [m, H] to logits [m, D]."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Modules of a model, not copies.

    Attributes:
        embedding: nn.Embedding or its quantized form.
        norm: The final norm.
        output: nn.Linear, its quantized form, or `embedding` itself when they are tied.
    """

    embedding: nn.Module
    norm: nn.Module
    output: nn.Module

    def logits(self, hidden: mx.array) -> mx.array:
        """Project hiddens [M, H] after the final norm to [M, V]."""
        tied = self.output is self.embedding
        rows: mx.array = self.output.as_linear(hidden) if tied else self.output(hidden)
        return rows

    def projection(self, ids: mx.array | None) -> Projection:
        """Return `logits` for the sorted token ids [D] alone, or for all of them; packed rows stay packed."""
        head = self.output
        if ids is None:
            return self.logits
        rows = head.weight[ids]
        if not isinstance(head, nn.QuantizedEmbedding | nn.QuantizedLinear):
            mx.eval(rows)
            return lambda hidden: hidden @ rows.T
        scales, biases = head.scales[ids], None if head.biases is None else head.biases[ids]
        mx.eval(rows, scales, biases)
        settings = {"group_size": head.group_size, "bits": head.bits, "mode": head.mode}
        return lambda hidden: mx.quantized_matmul(hidden, rows, scales, biases, **settings)
