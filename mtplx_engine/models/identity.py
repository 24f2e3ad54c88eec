"""What stands for the files of a model, so that what was found out of them is believed of no others. Imports no mlx."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mtplx_engine.models import manifest, model_config, safetensors_header, tokenizer_ids
from mtplx_engine.models.head_source import Location

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource

# Besides the weights: what makes other numbers of them, or other tokens of a text.
_SETTINGS = (
    model_config.NAME,
    tokenizer_ids.NAME,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_CHUNK = 1 << 20
_MOST_READ = 1 << 30  # bytes of a head
_SAMPLE = 1024  # bytes, at the start, in the middle and at the end of a tensor


def of(checkpoint: Checkpoint) -> str:
    """Return a hash over the weights of a model, its head's if it has one, its config.json and its tokenizer.

    A target is too large to be read at each load, and so are some heads: their files are known by size, time of
    change and samples of each tensor. A copy that has times of its own is another model.
    """
    head = "" if checkpoint.head is None else _head(checkpoint.head)
    settings = [_file(checkpoint.folder / name) for name in _SETTINGS]
    target = _sampled(
        Location(checkpoint.folder / spec.file, name, spec) for name, spec in checkpoint.tensors.items()
    )
    parts = [target, head, *settings]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def speed_key(checkpoints: Iterable[Checkpoint], speed_class: str) -> str:
    """Return a hash over all that decides how fast a model decodes.

    Args:
        checkpoints: The model, and the one that drafts for it if there is one.
        speed_class: What stands for the machine, see `backend.speed_class`.
    """
    parts = [*(of(checkpoint) for checkpoint in checkpoints), speed_class]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


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
    tensors = head.tensors.values()
    return (whole(tensors) if head.size <= _MOST_READ else _sampled(tensors)) + vocabulary


def _file(path: Path) -> str:
    return manifest.file_sha256(path) if path.is_file() else ""


def _sampled(locations: Iterable[Location]) -> str:
    """Return a hash over the files that tensors are in, by size and time, and samples of each tensor."""
    files: dict[Path, list[Location]] = {}
    for location in sorted(locations, key=lambda item: (item.path, item.spec.begin, item.name)):
        files.setdefault(location.path, []).append(location)
    digest = hashlib.sha256()
    for path, inside in files.items():
        state = path.stat()
        digest.update(f"{path.name} {state.st_size} {state.st_mtime_ns}\n".encode())
        with path.open("rb", buffering=0) as file:
            for location in inside:
                spec = location.spec
                digest.update(f"{location.name} {spec.dtype} {spec.shape} {spec.begin}\n".encode())
                last = max(spec.size - _SAMPLE, 0)
                starts = sorted({0, last // 2, last})
                digest.update(safetensors_header.sample_tensor(file, spec, starts, _SAMPLE))
    return digest.hexdigest()
