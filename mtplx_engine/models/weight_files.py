"""The files that hold a model's weights, and the index that says which tensor is in which. Imports no mlx."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.models import hub_cache, json_file, safetensors_header
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from mtplx_engine.models.safetensors_header import TensorSpec

INDEX = "model.safetensors.index.json"

_PATTERN = "model*.safetensors"
_MAX_INDEX_BYTES = 128 << 20


def missing(folder: Path) -> tuple[str, ...]:
    """Return the names of weight files that should be in `folder` but are not.

    Raises:
        EngineError: REFUSED, when the index is damaged.
    """
    promised = set(index(folder).values())
    listed = {path.name for path in _files(folder)} or {"model.safetensors"}
    return tuple(name for name in sorted(promised or listed) if not (folder / name).is_file())


def tensor_names(folder: Path) -> tuple[str, ...]:
    """Return the names of all tensors in the model's own files, without checking more than it must.

    Raises:
        EngineError: REFUSED, when index or headers are damaged.
    """
    if table := index(folder):
        return tuple(table)
    return tuple(name for path in _files(folder) for name in safetensors_header.read(path))


def tensors(folder: Path) -> dict[str, TensorSpec]:
    """Return the tensors of the model's own files.

    Raises:
        EngineError: REFUSED, when a header is damaged, or a tensor is in two files.
    """
    found: dict[str, TensorSpec] = {}
    for path in _files(folder):
        for name, spec in safetensors_header.read(path).items():
            if name in found:
                raise refused(path.name, f"holds {name[:100]!r}, which {found[name].file} holds too")
            found[name] = spec
    return found


def check_promised(folder: Path, names: AbstractSet[str]) -> None:
    """Check that tensors of these names are all that the index promises.

    Raises:
        EngineError: REFUSED.
    """
    for name in index(folder):
        if name not in names:
            raise refused(hub_cache.title(folder), f"lacks the tensor {name[:100]!r} that {INDEX} promises")


def is_one(name: str) -> bool:
    """Whether mlx-lm takes a model's weights from a file of this name."""
    return fnmatch.fnmatchcase(name, _PATTERN) and "/" not in name


def _files(folder: Path) -> list[Path]:
    """Return the files that mlx-lm takes a model's weights from."""
    return sorted(folder.glob(_PATTERN))


def index(folder: Path) -> dict[str, str]:
    """Return which file each tensor is in, empty for a model without an index.

    Raises:
        EngineError: REFUSED, when it is damaged.
    """
    if not (folder / INDEX).exists():
        return {}
    table = json_file.read(folder / INDEX, _MAX_INDEX_BYTES).get("weight_map")
    if not isinstance(table, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in table.values()
    ):
        raise refused(INDEX, "does not say which file holds which tensor")
    return table
