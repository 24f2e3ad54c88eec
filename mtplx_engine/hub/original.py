"""The drafting head that a conversion left behind in the repository it was made from.

Which repository that is, the conversion's model card says; it is believed only as far as tensors and sizes agree.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import names
from mtplx_engine.hub.taken_head import Header, Part, TakenHead
from mtplx_engine.models import (
    head_source,
    json_file,
    model_config,
    safetensors_header,
    weight_files,
)
from mtplx_engine.models.families import appended_names, supported

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.hub.repo import RemoteFile, Repo
    from mtplx_engine.hub.sparse_copy import SparseCopier
    from mtplx_engine.models.head_source import HeadSource

_LARGEST = 64_000_000_000  # bytes; those of the largest open models have some 35 GB
# What must be the same in both, or the head was trained for something else.
_SHARED = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")


def find(copier: SparseCopier, original: Repo, config: Mapping[str, Any], folder: Path) -> TakenHead | None:
    """Return the head in a repository, None without one; whether it fits is for an inspection to say.

    Args:
        copier: Fetches what must be known.
        original: The repository.
        config: The conversion's config.json, laid flat and checked.
        folder: Where a sparse copy of what is needed may be made.

    Raises:
        EngineError: The repository is no sound one, or another model's, or cannot be had.
        CancelledError: The copier's interrupt was set.
        OSError: The disk does not take it.
    """
    files = {file.name: file for file in original.files}
    folder.mkdir()
    own = _config(copier, original, files, folder)
    if differing := next((key for key in _SHARED if own.get(key) != config[key]), ""):
        raise _unfit(original, f"is another kind of model ({differing} differs)")
    holding = _holding(copier, original, files, folder, config)
    for name in holding:
        copier.lay_file(original, files[name], folder)
    head = head_source.find(folder, own, weight_files.tensors(folder)) if holding else None
    if head is None:
        return None
    if head.problem:
        raise _unfit(original, "has no single drafting head")
    return _taken(original, files, config, folder, head)


def _config(
    copier: SparseCopier, original: Repo, files: Mapping[str, RemoteFile], folder: Path
) -> dict[str, Any]:
    if model_config.NAME not in files:
        raise _unfit(original, f"has no {model_config.NAME}")
    copier.lay_file(original, files[model_config.NAME], folder)
    return model_config.flat(json_file.read(folder / model_config.NAME, model_config.MAX_BYTES))


def _holding(
    copier: SparseCopier,
    original: Repo,
    files: Mapping[str, RemoteFile],
    folder: Path,
    config: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the files that tensors of a head are in, as the index says; the only file where there is no index."""
    apart = [name for name in head_source.FILES if name in files]
    weights = [name for name in files if names.is_weights(name) and name not in apart]
    if weight_files.INDEX not in files:
        return (*apart, *(weights if len(weights) == 1 else ()))
    copier.lay_file(original, files[weight_files.INDEX], folder)
    table = weight_files.index(folder)
    named = {file for name, file in table.items() if supported.has_head(config, (name,))}
    (folder / weight_files.INDEX).unlink()  # of a model that is not here
    if missing := next((name for name in sorted(named) if name not in files), ""):
        raise _unfit(original, f"has no file {missing[:100]!r}, which its index names")
    return (*apart, *sorted(named.difference(apart)))


def _taken(
    original: Repo,
    files: Mapping[str, RemoteFile],
    config: Mapping[str, Any],
    folder: Path,
    head: HeadSource,
) -> TakenHead:
    architecture = config["model_type"]
    parts = [
        Part(raw, item.spec.dtype, item.spec.shape, str(item.path.relative_to(folder)), item.spec.begin)
        for raw, item in head.tensors.items()
        if not appended_names.is_repeated(raw, architecture)  # the others are the model's own once more
    ]
    parts.sort(key=lambda part: (part.file, part.begin, part.name))
    if sum(part.size for part in parts) > _LARGEST:
        raise _unfit(original, f"has a drafting head of more than {_LARGEST // 1_000_000_000} GB")
    used = dict.fromkeys(part.file for part in parts)
    return TakenHead(
        original=dataclasses.replace(original, files=tuple(files[name] for name in used), left_out=()),
        architecture=architecture,
        hidden_size=config["hidden_size"],
        vocabulary=config["vocab_size"],
        headers=tuple(_header(folder, name) for name in used),
        parts=tuple(parts),
    )


def _header(folder: Path, name: str) -> Header:
    with (folder / name).open("rb") as file:
        found = file.read(safetensors_header.LENGTH_BYTES)
        found += file.read(int.from_bytes(found, "little"))
    return Header(name, len(found), hashlib.sha256(found).hexdigest())


def _unfit(original: Repo, problem: str) -> EngineError:
    return EngineError(ErrorKind.REFUSED, f"{original.id} {problem}.")
