"""The two ends of a language model: the embedding, and the final norm with the output head."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx
from mlx import nn


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

    def output_rows(self, ids: mx.array) -> mx.array:
        """Return the rows [D, H] of the output head for the token ids [D], unpacked."""
        head = self.output
        if isinstance(head, nn.QuantizedEmbedding | nn.QuantizedLinear):
            return mx.dequantize(
                head.weight[ids],
                head.scales[ids],
                None if head.biases is None else head.biases[ids],
                group_size=head.group_size,
                bits=head.bits,
                mode=head.mode,
            )
        rows: mx.array = head.weight[ids]
        return rows
