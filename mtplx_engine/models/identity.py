"""What stands for the files of a model, so that what was found out of them is believed of no others. Imports no mlx."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mtplx_engine.models import manifest, model_config, tokenizer_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource, Location
    from mtplx_engine.models.safetensors_header import TensorSpec

# Besides the weights: what makes other numbers of them, or other tokens of a text.
_SETTINGS = (
    model_config.NAME,
    tokenizer_ids.NAME,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_CHUNK = 1 << 20
_SAMPLE = 1024  # bytes, at the start, in the middle and at the end of a tensor


def of(checkpoint: Checkpoint) -> str:
    """Return a hash over the weights of a model, its head's if it has one, its config.json and its tokenizer.

    A target may be too large to be read at each load, so its files are known by size, time of change and samples of
    each tensor. A copy that has times of its own is another model.
    """
    head = "" if checkpoint.head is None else _head(checkpoint.head)
    settings = [_file(checkpoint.folder / name) for name in _SETTINGS]
    parts = [_target(checkpoint.folder, checkpoint.tensors), head, *settings]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def whole(locations: Iterable[Location]) -> str:
    """Return a hash over name, type, shape and every byte of tensors, in whichever files they are."""
    digest = hashlib.sha256()
    for location in sorted(locations, key=lambda item: item.name):
        spec = location.spec
        digest.update(f"{location.name} {spec.dtype} {spec.shape}\n".encode())
        with location.path.open("rb") as file:
            file.seek(spec.begin)
            for start in range(0, spec.size, _CHUNK):
                digest.update(file.read(min(_CHUNK, spec.size - start)))
    return digest.hexdigest()


def _head(head: HeadSource) -> str:
    vocabulary = "" if head.draft_vocabulary is None else _file(head.draft_vocabulary)
    return whole(head.tensors.values()) + vocabulary


def _file(path: Path) -> str:
    return manifest.file_sha256(path) if path.is_file() else ""


def _target(folder: Path, tensors: Mapping[str, TensorSpec]) -> str:
    digest = hashlib.sha256()
    for name in sorted({spec.file for spec in tensors.values()}):
        inside = sorted((spec.begin, own, spec) for own, spec in tensors.items() if spec.file == name)
        with (folder / name).open("rb", buffering=0) as file:
            state = (folder / name).stat()
            digest.update(f"{name} {state.st_size} {state.st_mtime_ns}\n".encode())
            for begin, own, spec in inside:
                digest.update(f"{own} {spec.dtype} {spec.shape} {begin}\n".encode())
                last = max(spec.size - _SAMPLE, 0)
                for start in sorted({0, last // 2, last}):
                    file.seek(begin + start)
                    digest.update(file.read(min(_SAMPLE, spec.size)))
    return digest.hexdigest()
