"""A tiny quantized Llama as a GGUF, a wheel around it, and a GGUF reader that shares nothing with mlx's."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

if TYPE_CHECKING:
    from pathlib import Path


_ALIGN = 32
_U32, _F32_VALUE, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5
_F32, _Q4_1, _Q8_0 = 0, 3, 8
_BLOCK = {
    _Q4_1: np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)]),
    _Q8_0: np.dtype([("d", "<f2"), ("q", "i1", 32)]),
}

HEADS, KV_HEADS, HEAD_DIM, HIDDEN, FFN, LAYERS = 4, 2, 16, 64, 96, 2
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def write(path: Path, *, norm: float = 1.0, pre: str = "smollm") -> None:
    """Write the tiny model; `norm` fills its norm gains, `pre` names its pre-tokenizer."""
    rng = np.random.default_rng(7)
    tokens = CONTROL + sorted(ByteLevel.alphabet()) + [merge.replace(" ", "") for merge in MERGES]
    kinds = [3] * len(CONTROL) + [1] * (len(tokens) - len(CONTROL))
    metadata: dict[str, Any] = {
        "general.architecture": "llama",
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": FFN,
        "llama.block_count": LAYERS,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.context_length": 256,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    }
    vocabulary = len(tokens)
    tensors = {"token_embd.weight": (_Q8_0, vocabulary, HIDDEN), "output_norm.weight": (_F32, HIDDEN)}
    for layer in range(LAYERS):
        for name, rows, columns in [
            ("attn_q", HEADS * HEAD_DIM, HIDDEN),
            ("attn_k", KV_HEADS * HEAD_DIM, HIDDEN),
            ("attn_v", KV_HEADS * HEAD_DIM, HIDDEN),
            ("attn_output", HIDDEN, HEADS * HEAD_DIM),
            ("ffn_gate", FFN, HIDDEN),
            ("ffn_up", FFN, HIDDEN),
            ("ffn_down", HIDDEN, FFN),
        ]:
            tensors[f"blk.{layer}.{name}.weight"] = (_Q4_1, rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = (_F32, HIDDEN)
    path.write_bytes(_file(metadata, {name: (spec, _data(rng, spec, norm)) for name, spec in tensors.items()}))


def read(path: Path) -> dict[str, np.ndarray]:
    """Return every tensor of a GGUF file, dequantized to float32, shape [rows, columns]."""
    cursor = _Cursor(path.read_bytes())
    assert cursor.take("4sI")[0] == b"GGUF"
    tensor_count, pair_count = cursor.take("QQ")
    for _ in range(pair_count):
        cursor.string()
        cursor.value(cursor.take("I")[0])
    infos = []
    for _ in range(tensor_count):
        name, (rank,) = cursor.string(), cursor.take("I")
        shape = cursor.take(f"{rank}Q")[::-1]
        kind, offset = cursor.take("IQ")
        infos.append((name, shape, kind, offset))
    start = -(-cursor.at // _ALIGN) * _ALIGN
    return {name: _decode(cursor.data, start + offset, shape, kind) for name, shape, kind, offset in infos}


def _decode(data: bytes, offset: int, shape: tuple[int, ...], kind: int) -> np.ndarray:
    count = int(np.prod(shape))
    if kind == _F32:
        return np.frombuffer(data, "<f4", count, offset).reshape(shape)
    blocks = np.frombuffer(data, _BLOCK[kind], count // 32, offset)
    scale = blocks["d"].astype(np.float32)[:, None]
    if kind == _Q8_0:
        return (blocks["q"].astype(np.float32) * scale).reshape(shape)
    # The low nibbles are elements 0..15 of the block, the high ones 16..31.
    nibbles = np.concatenate([blocks["q"] & 15, blocks["q"] >> 4], axis=1).astype(np.float32)
    return (nibbles * scale + blocks["m"].astype(np.float32)[:, None]).reshape(shape)


@dataclass
class _Cursor:
    data: bytes
    at: int = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def string(self) -> str:
        (length,) = self.take("Q")
        return self.take(f"{length}s")[0].decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner, count = self.take("IQ")
            return [self.value(inner) for _ in range(count)]
        return self.take("BbHhIif?_QqdX"[kind])[0]


def _data(rng: np.random.Generator, spec: tuple[int, ...], norm: float) -> bytes:
    kind, *shape = spec
    count = int(np.prod(shape))
    if kind == _F32:
        return np.full(count, norm, "<f4").tobytes()
    blocks = np.zeros(count // 32, _BLOCK[kind])
    blocks["d"] = rng.uniform(0.001, 0.02, blocks.shape)
    if kind == _Q4_1:
        blocks["m"] = rng.uniform(-0.1, 0.1, blocks.shape)
        blocks["q"] = rng.integers(0, 256, blocks["q"].shape)
    else:
        blocks["q"] = rng.integers(-128, 128, blocks["q"].shape)
    return blocks.tobytes()


def _file(metadata: dict[str, Any], tensors: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += _string(key) + _value(value)
    body = b""
    for name, ((kind, *shape), data) in tensors.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, len(body))
        body += data + bytes(-len(data) % _ALIGN)
    return head + bytes(-len(head) % _ALIGN) + body


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, float):
        return struct.pack("<If", _F32_VALUE, value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _I32, len(value), *value)


def write_wheel(folder: Path) -> dict[str, Any]:
    """Put a wheel with the tiny model, a head and a recipe into `folder`; return the recipe's JSON."""
    weights = folder / "tiny.gguf"
    write(weights)
    wheel = folder / "mtplx_tiny_weights-1.0-py3-none-any.whl"
    info = "mtplx_tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(weights, "mtplx_tiny_weights/tiny.gguf")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: mtplx-tiny-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    (folder / "head.safetensors").write_bytes(b"not looked into")
    recipe = {
        "id": "tiny",
        "name": "Tiny",
        "licence": "Apache-2.0",
        "revision": 1,
        "requirement": "mtplx-tiny-weights==1.0",
        "wheel": _record(wheel.name, wheel),
        "weights": _record("mtplx_tiny_weights/tiny.gguf", weights),
        "generation": {"eos_token_id": 2, "temperature": 0.7},
        "head": {
            "kind": "mtp",
            "family": "llama",
            "hidden": "after_norm",
            "concat": "embedding_first",
            "norms": "plain",
            "files": ["head.safetensors"],
        },
    }
    (folder / "recipe.json").write_text(json.dumps(recipe))
    return recipe


def _record(name: str, path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
