"""Writes a checkpoint as published ones are: several shards with an index, configuration, tokenizer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mlx.core as mx

from tests.support import tiny_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


SHARDS = 3
_BLOCK = 128  # rows and columns that share a scale in fp8 checkpoints
_LARGEST_FP8 = 448


def write(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, mx.array]) -> None:
    """Write a model folder; names are spread over the shards, so that layers lie across them; bytes are fp8."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for number in range(SHARDS):
        file = f"model-{number + 1:05d}-of-{SHARDS:05d}.safetensors"
        names = sorted(tensors)[number::SHARDS]
        mx.save_safetensors(str(folder / file), {name: tensors[name] for name in names})
        _call_bytes_fp8(folder / file)
        files |= dict.fromkeys(names, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    (folder / "config.json").write_text(json.dumps(dict(config)))
    tiny_folder.write_tokenizer(folder)


def pack(
    tensors: Mapping[str, mx.array], bits: int, group_size: int
) -> tuple[dict[str, mx.array], dict[str, mx.array]]:
    """Quantize the matrices of a converted checkpoint.

    Returns:
        The packed tensors, and the same numbers unpacked in float32. Routers, convolutions and vectors
        stay as they are.
    """
    packed: dict[str, mx.array] = {}
    unpacked: dict[str, mx.array] = {}
    for name, array in tensors.items():
        if array.ndim < 2 or name.endswith((".mlp.gate.weight", ".conv1d.weight")):
            packed[name] = unpacked[name] = array
            continue
        stem = name.removesuffix(".weight")
        parts = mx.quantize(array, group_size=group_size, bits=bits)
        packed |= dict(zip((name, f"{stem}.scales", f"{stem}.biases"), parts, strict=True))
        unpacked[name] = mx.dequantize(*parts, group_size=group_size, bits=bits)
    return packed, unpacked


def pack_fp8(tensors: Mapping[str, mx.array]) -> tuple[dict[str, mx.array], dict[str, mx.array]]:
    """Pack the blocks of an original checkpoint to fp8 with a scale for each 128 x 128 weights.

    Returns:
        The packed tensors, and the same numbers unpacked in bfloat16. Ends, routers and joints stay as they are.
    """
    packed: dict[str, mx.array] = {}
    unpacked: dict[str, mx.array] = {}
    for name, array in tensors.items():
        is_block = name.endswith("_proj.weight") and "eh_proj" not in name
        if not is_block:
            packed[name] = unpacked[name] = array
            continue
        scales = mx.ones([-(-side // _BLOCK) for side in array.shape]) * mx.abs(array).max() / _LARGEST_FP8
        scales = scales * mx.linspace(1, 2, scales.size).reshape(scales.shape)
        spread = mx.repeat(mx.repeat(scales, _BLOCK, axis=0), _BLOCK, axis=1)
        spread = spread[: array.shape[0], : array.shape[1]]
        packed[name] = mx.to_fp8(array / spread)
        packed[f"{name}_scale_inv"] = scales
        unpacked[name] = (mx.from_fp8(packed[name], dtype=mx.float32) * spread).astype(mx.bfloat16)
    return packed, unpacked


def _call_bytes_fp8(path: Path) -> None:
    """Give the tensors of bytes in a safetensors file the type that mlx reads but does not write."""
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = raw[8:end].replace(b'"U8"', b'"F8_E4M3"')
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw[end:])
