"""The identity of a model: hashes of its files, its revision, how it is quantized, whether it is the starter."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.models import config_checks, head_source, hub_cache, manifest, safetensors_header, starter
from mtplx_engine.models.head_source import Location

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource


# Files that change a model's outputs besides its weights.
_SETTINGS = (
    config_checks.CONFIG_NAME,
    config_checks.TOKENIZER_NAME,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_CHUNK = 1 << 20
_MOST_READ = 1 << 30  # bytes of a head
_SAMPLE = 1024  # bytes, at the start, in the middle and at the end of a tensor
_COMMIT = re.compile(r"@([0-9a-f]{7,64})$")  # at the end of a manifest's source
_MODES = ("mxfp4", "mxfp8", "nvfp4")
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8"}


def identity_of(checkpoint: Checkpoint) -> str:
    """Return a hash over the weights of a model, its head's if it has one, its config.json and its tokenizer.

    Targets, and large heads, are too large to be read at each load: size and modification time of their files and
    samples of each tensor are hashed. So a copy with other times is another model.
    """
    head = "" if checkpoint.head is None else _head(checkpoint.head)
    settings = [_file(checkpoint.folder / name) for name in _SETTINGS]
    target = _sampled(Location(checkpoint.folder / spec.file, name, spec) for name, spec in checkpoint.tensors.items())
    parts = [target, head, *settings]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def speed_key(checkpoints: Iterable[Checkpoint], speed_class: str) -> str:
    """Return a hash over everything that decides how fast a model decodes.

    That is the model, the one that drafts for it if there is one, and the machine's `backend.speed_class`.
    """
    parts = [*(identity_of(checkpoint) for checkpoint in checkpoints), speed_class]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def whole_identity(locations: Iterable[Location]) -> str:
    """Return a hash over name, type, shape and every byte of tensors, independent of the files they are in."""
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
    return (whole_identity(tensors) if head.size <= _MOST_READ else _sampled(tensors)) + vocabulary


def _file(path: Path) -> str:
    return manifest.file_sha256(path) if path.is_file() else ""


def _sampled(locations: Iterable[Location]) -> str:
    """Return a hash over size and time of the files that tensors are in, and samples of each tensor."""
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


def is_starter(checked: Checkpoint, head: HeadSource) -> bool:
    """Whether a model is the starter, its head byte-equal to the one that ships with the code."""
    installed, recipe = checked.manifest, starter.shipped_recipe()
    if installed is None or (installed.id, installed.head) != (recipe.id, recipe.head):
        return False
    path = paths.resources() / "starter" / recipe.head.files[0]
    specs = safetensors_header.read(path)
    ours = (head_source.Location(path, name, spec) for name, spec in specs.items())
    return whole_identity(ours) == whole_identity(head.tensors.values())


def revision_of(checkpoint: Checkpoint) -> str:
    """Return the commit of the repository that a model came from, or the number of its recipe; "" when not known."""
    installed = checkpoint.manifest
    if installed is None:
        return hub_cache.commit(checkpoint.folder)
    if found := _COMMIT.search(installed.source):
        return found[1]
    return str(installed.revision) if installed.files else hub_cache.commit(checkpoint.folder)


def quantization_of(checkpoint: Checkpoint) -> str:
    """Return how the weights of a model are stored, as in "4-bit, group 64", "4 to 8-bit, group 64" or "bfloat16"."""
    settings = checkpoint.config.get("quantization")
    if settings:
        tables = [settings, *(value for value in settings.values() if isinstance(value, dict))]
        bits, groups = ({table[name] for table in tables} for name in ("bits", "group_size"))
        kind = f" {settings['mode']}" if settings.get("mode") in _MODES else ""
        return f"{_span(bits)}-bit{kind}, group {_span(groups)}"
    sizes: Counter[str] = Counter()
    for spec in checkpoint.tensors.values():
        sizes[spec.dtype] += spec.size
    most = max(sizes, key=sizes.__getitem__, default="")
    return _TYPES.get(most, "packed")


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
