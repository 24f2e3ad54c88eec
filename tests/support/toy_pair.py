"""The trained toy as published quants are: a model without its head, and the head in a folder of its own."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, NamedTuple

import mlx.core as mx

from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path


_WEIGHTS, _PREFIX = "model.safetensors", "mtp."


class ToyPair(NamedTuple):
    """Its two folders."""

    target: Path
    head: Path


def write(folder: Path) -> ToyPair:
    """Write both folders below `folder`."""
    pair = ToyPair(folder / "toy", folder / "toy-MTP")
    shutil.copytree(TOY, pair.target)
    pair.head.mkdir()
    tensors, metadata = mx.load(str(TOY / _WEIGHTS), return_metadata=True)
    head = {name.removeprefix(_PREFIX): array for name, array in tensors.items() if name.startswith(_PREFIX)}
    trunk = {name: array for name, array in tensors.items() if not name.startswith(_PREFIX)}
    mx.save_safetensors(str(pair.target / _WEIGHTS), trunk, metadata)
    mx.save_safetensors(str(pair.head / _WEIGHTS), head, metadata)
    config = json.loads((TOY / "config.json").read_text())
    (pair.head / "config.json").write_text(json.dumps({**config, "model_type": "qwen3_5_mtp"}))
    return pair


def scale(folder: Path, factor: float) -> None:
    """Make other weights of the same sizes."""
    tensors, metadata = mx.load(str(folder / _WEIGHTS), return_metadata=True)
    changed = {name: (array * factor).astype(array.dtype) for name, array in tensors.items()}
    mx.eval(changed)
    mx.save_safetensors(str(folder / _WEIGHTS), changed, metadata)
