"""A sound model folder of a few hundred bytes, to be damaged by tests."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from mtplx_engine.models.safetensors_header import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


ROWS, HIDDEN = 16, 4
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": ROWS,
    "rms_norm_eps": 1e-5,
}
TOKENIZER: dict[str, Any] = {
    "added_tokens": [{"id": ROWS - 1, "content": "<end>"}],
    "model": {"type": "BPE", "vocab": {"a": 0, "auto_map": 1}, "merges": []},
}


def tensors(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return tensors in float32 with these names and shapes."""
    return {name: ("F32", shape) for name, shape in shapes.items()}


def _layer(size: int, inner: int) -> dict[str, tuple[int, ...]]:
    """Return a layer of a Llama-type model with as many keys as queries."""
    square = dict.fromkeys((f"self_attn.{part}_proj.weight" for part in "qkvo"), (size, size))
    return {
        "input_layernorm.weight": (size,),
        "post_attention_layernorm.weight": (size,),
        **square,
        "mlp.gate_proj.weight": (inner, size),
        "mlp.up_proj.weight": (inner, size),
        "mlp.down_proj.weight": (size, inner),
    }


def trunk(size: int = HIDDEN) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the tensors of a model with `CONFIG`, or with hiddens of another size."""
    layer = {f"model.layers.0.{name}": shape for name, shape in _layer(size, 8).items()}
    return tensors({"model.embed_tokens.weight": (ROWS, size), **layer, "model.norm.weight": (size,)})


def _head() -> dict[str, tuple[str, tuple[int, ...]]]:
    norms = dict.fromkeys(
        (f"{name}.weight" for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")), (HIDDEN,)
    )
    layer = {f"layers.0.{name}": shape for name, shape in _layer(HIDDEN, 8).items()}
    return tensors({**norms, "fc.weight": (HIDDEN, 2 * HIDDEN), **layer})


TENSORS = trunk()
HEAD = _head()


def safetensors(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> bytes:
    """Return a sound file with zeros for the tensors, each given as dtype and shape."""
    header, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        end = at + math.prod(shape) * ITEM_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    return raw_safetensors(header, at)


def raw_safetensors(header: object, data_bytes: int) -> bytes:
    """Return a file with any header and that many bytes of data."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(data_bytes)


def write(
    folder: Path,
    *,
    config: Mapping[str, Any] = CONFIG,
    tokenizer: object = TOKENIZER,
    files: Mapping[str, bytes] | None = None,
) -> Path:
    """Make a model folder, by default a sound one with a single weight file; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text("{}")
    for name, data in (files or {"model.safetensors": safetensors(TENSORS)}).items():
        (folder / name).write_bytes(data)
    return folder
