"""Llama-type models: where the trunk, the output head and the embedding are, and our MTP head for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx import nn
from mlx_lm.models.llama import ModelArgs, TransformerBlock

if TYPE_CHECKING:
    from collections.abc import Mapping


def hidden_states(model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
    """Forward tokens [M] through the trunk; returns [M, H] after the final norm."""
    hidden: mx.array = model.model(tokens[None], layers)[0]
    return hidden


def logits(model: nn.Module, hidden: mx.array) -> mx.array:
    """Project hidden states [M, H] to logits [M, V]."""
    head = model.model.embed_tokens.as_linear if model.args.tie_word_embeddings else model.lm_head
    rows: mx.array = head(hidden)
    return rows


def embed(model: nn.Module, tokens: mx.array) -> mx.array:
    """Embed tokens [M] as [M, H]."""
    vectors: mx.array = model.model.embed_tokens(tokens)
    return vectors


def output_rows(model: nn.Module, ids: mx.array) -> mx.array:
    """Return the rows [D, H] of the output head for the token ids [D], unpacked."""
    head = model.model.embed_tokens if model.args.tie_word_embeddings else model.lm_head
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


class LlamaMTPHead(nn.Module):
    """One Llama block over concat(norm(embedding of t+1), norm(hidden of t)), output after its own norm.

    Args:
        args: The target's arguments; the block has the same sizes.
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        size = args.hidden_size
        self.pre_fc_norm_embedding = nn.RMSNorm(size, eps=args.rms_norm_eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(size, eps=args.rms_norm_eps)
        self.fc = nn.Linear(2 * size, size, bias=False)
        self.layers = [TransformerBlock(args)]
        self.norm = nn.RMSNorm(size, eps=args.rms_norm_eps)

    def inputs(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """Join embeddings and hiddens, both [m, H], into block inputs [1, m, H]."""
        joined = mx.concatenate(
            [self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)], axis=-1
        )
        fused: mx.array = self.fc(joined)[None]
        return fused

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] after the norm."""
        length = inputs.shape[1]
        mask = cache.make_mask(length, return_array=False, window_size=None)
        hidden: mx.array = self.norm(self.layers[0](inputs, mask, cache))[0]
        return hidden

    def remember(self, inputs: mx.array, cache: Any) -> None:
        """Write only keys and values of inputs [1, m, H]: all that history needs."""
        block = self.layers[0]
        attention = block.self_attn
        normed = block.input_layernorm(inputs)
        shape = (1, inputs.shape[1], attention.n_kv_heads, -1)
        keys = attention.k_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        values = attention.v_proj(normed).reshape(shape).transpose(0, 2, 1, 3)
        cache.update_and_fetch(attention.rope(keys, offset=cache.offset), values)


def head_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor that the head file must hold, nothing else."""
    size, inner = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or size // heads
    kv_size = (config.get("num_key_value_heads") or heads) * head_dim
    block = {
        "input_layernorm": (size,),
        "post_attention_layernorm": (size,),
        "self_attn.q_proj": (heads * head_dim, size),
        "self_attn.k_proj": (kv_size, size),
        "self_attn.v_proj": (kv_size, size),
        "self_attn.o_proj": (size, heads * head_dim),
        "mlp.gate_proj": (inner, size),
        "mlp.up_proj": (inner, size),
        "mlp.down_proj": (size, inner),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (size, 2 * size),
        "pre_fc_norm_embedding.weight": (size,),
        "pre_fc_norm_hidden.weight": (size,),
        "norm.weight": (size,),
    }
    return shapes | {f"layers.0.{name}.weight": shape for name, shape in block.items()}
