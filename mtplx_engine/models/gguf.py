"""Repack a GGUF checkpoint of a Llama model into mlx-lm's form: `python -m mtplx_engine.models.gguf GGUF FOLDER`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

_CONTROL = 3  # GGUF's token type of control tokens
_GROUP = 32  # weights per block in GGUF's Q4_1 and Q8_0
_BITS = 4

_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def repack(gguf: Path, folder: Path) -> None:
    """Write config, weights and tokenizer of the GGUF file into the existing `folder`.

    Q4_1 blocks are mlx's affine 4-bit groups of 32 and Q8_0 blocks its 8-bit groups of 32, so packed weights
    (uint32), scales and biases (f16) are copied; only the rows of q and k change places.

    Raises:
        ValueError: A tensor is of a kind that could not be kept exactly.
    """
    loaded: Any = mx.load(str(gguf), return_metadata=True)
    tensors: dict[str, mx.array] = loaded[0]
    metadata: dict[str, Any] = loaded[1]
    heads = {
        "attn_q": int(_scalar(metadata, "llama.attention.head_count")),
        "attn_k": int(_scalar(metadata, "llama.attention.head_count_kv")),
    }
    weights = {}
    for name, tensor in tensors.items():
        module = name.split(".")[-2]
        ordered = half_split_rows(tensor, heads[module]) if module in heads else tensor
        weights[mlx_name(name)] = _exact_half(name, ordered)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    _write_json(folder / "config.json", _config(metadata, weights))
    write_tokenizer(metadata, folder)


def mlx_name(name: str) -> str:
    """Return mlx-lm's name of a GGUF tensor, as "blk.3.attn_q.weight"; ValueError for one that no Llama model has."""
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|scales|biases)", name)
    if layer and layer[2] in _LAYER_NAMES:
        return f"model.layers.{layer[1]}.{_LAYER_NAMES[layer[2]]}.{layer[3]}"
    outer = re.fullmatch(r"(\w+)\.(weight|scales|biases)", name)
    if outer and outer[1] in _NAMES:
        return f"{_NAMES[outer[1]]}.{outer[2]}"
    raise ValueError(f"unknown GGUF tensor {name!r}")


def half_split_rows(rows: mx.array, heads: int) -> mx.array:
    """Reorder the output rows [heads * head_dim, any] of q or k from GGUF's rotary order to mlx-lm's.

    GGUF keeps the two members of a rotary pair side by side, mlx-lm half a head apart. Rows are moved whole,
    so packed weights, scales and biases go the same way.
    """
    pairs = rows.reshape(heads, -1, 2, rows.shape[-1])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def write_tokenizer(metadata: dict[str, Any], folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and special_tokens_map.json into `folder`.

    Raises:
        ValueError: The GGUF asks for another pre-tokenizer than "smollm" (byte-level BPE, single digits).
    """
    if metadata["tokenizer.ggml.pre"] != "smollm":
        raise ValueError(f"unknown pre-tokenizer {metadata['tokenizer.ggml.pre']!r}")
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    kinds: list[int] = metadata["tokenizer.ggml.token_type"].tolist()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer = build_tokenizer(tokens, metadata["tokenizer.ggml.merges"], control)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)

    named = {
        name: tokens[metadata[f"tokenizer.ggml.{key}_token_id"].item()]
        for name, key in [
            ("bos_token", "bos"),
            ("eos_token", "eos"),
            ("unk_token", "unknown"),
            ("pad_token", "padding"),
        ]
    }
    _write_json(folder / "special_tokens_map.json", named)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata["llama.context_length"].item(),
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        **named,
        "chat_template": metadata["tokenizer.chat_template"],
    }
    _write_json(folder / "tokenizer_config.json", config)


def build_tokenizer(tokens: list[str], merges: list[str], control: list[str]) -> Tokenizer:
    """Return a byte-level BPE tokenizer that splits numbers into digits.

    `tokens` are in order of their ids and in byte-level spelling, `merges` are pairs "left right", most important
    first, and `control` tokens are matched before any other text and may be skipped by decoding.
    """
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def _exact_half(name: str, tensor: mx.array) -> mx.array:
    """Return unquantized f32 tensors (the norms) as f16, like the scales, if that loses nothing."""
    if tensor.dtype != mx.float32:
        return tensor
    half = tensor.astype(mx.float16)
    if not mx.array_equal(half.astype(mx.float32), tensor).item():
        raise ValueError(f"{name} does not fit float16 exactly")
    return half


def _config(metadata: dict[str, Any], weights: dict[str, mx.array]) -> dict[str, Any]:
    hidden = int(_scalar(metadata, "llama.embedding_length"))
    heads = int(_scalar(metadata, "llama.attention.head_count"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": int(_scalar(metadata, "llama.feed_forward_length")),
        "num_hidden_layers": int(_scalar(metadata, "llama.block_count")),
        "num_attention_heads": heads,
        "num_key_value_heads": int(_scalar(metadata, "llama.attention.head_count_kv")),
        "head_dim": hidden // heads,
        "max_position_embeddings": int(_scalar(metadata, "llama.context_length")),
        "rope_theta": _decimal(_scalar(metadata, "llama.rope.freq_base")),
        "rms_norm_eps": _decimal(_scalar(metadata, "llama.attention.layer_norm_rms_epsilon")),
        "vocab_size": len(metadata["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": int(_scalar(metadata, "tokenizer.ggml.bos_token_id")),
        "eos_token_id": int(_scalar(metadata, "tokenizer.ggml.eos_token_id")),
        "quantization": _quantization(weights),
    }


def _quantization(weights: dict[str, mx.array]) -> dict[str, Any]:
    """Return mlx-lm's "quantization": the common width, and by module path those that differ."""
    found: dict[str, Any] = {"group_size": _GROUP, "bits": _BITS}
    for name, scales in weights.items():
        module, _, kind = name.rpartition(".")
        if kind == "scales":
            packed = weights[f"{module}.weight"]
            bits = packed.shape[-1] * packed.itemsize * 8 // (scales.shape[-1] * _GROUP)
            if bits != _BITS:
                found[module] = {"group_size": _GROUP, "bits": bits}
    return found


def _scalar(metadata: dict[str, Any], key: str) -> float:
    value: float = metadata[key].item()
    return value


def _decimal(value: float) -> float:
    return float(f"{value:.7g}")


def _write_json(path: Path, body: dict[str, Any]) -> None:
    path.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    repack(Path(sys.argv[1]), Path(sys.argv[2]))
