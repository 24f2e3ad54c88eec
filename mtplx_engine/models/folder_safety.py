"""Whether a model folder can do harm by what it holds: code, links that lead away, JSON that asks for code.

Imports no mlx.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from mtplx_engine.models import hub_cache, json_file, manifest, model_config, tokenizer_ids, weight_files
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ENTRIES = 10_000
# Code, or formats that run code or memory-unsafe parsers when they are read.
_UNSAFE_SUFFIXES = frozenset(
    {
        ".py",
        ".pyc",
        ".so",
        ".dylib",
        ".bin",
        ".pt",
        ".pth",
        ".pkl",
        ".pickle",
        ".ckpt",
        ".joblib",
        ".npy",
        ".npz",
    }
)
_CODE_KEYS = frozenset({"auto_map", "custom_pipelines", "model_file", "trust_remote_code"})
_CONVERTED_ADVICE = "choose a copy of the model that was converted for MLX, which asks for none"
_SAFE_ADVICE = "choose a model in safetensors form, without code"
# Keys of these are words or tensor names, where any word is innocent.
_TABLES = frozenset({tokenizer_ids.NAME, "vocab.json", weight_files.INDEX})


def check_files(folder: Path) -> None:
    """Look at every name in a folder and below, without opening anything.

    Raises:
        EngineError: REFUSED.
    """
    for count, path in enumerate(_walk(folder)):
        if count >= _MAX_ENTRIES:
            raise refused(hub_cache.title(folder), f"holds more than {_MAX_ENTRIES} files")
        if is_unsafe(path.name):
            raise refused(
                hub_cache.title(folder),
                f"holds {path.name}, which can run code when it is read",
                _SAFE_ADVICE,
            )
        if path.is_symlink() and not _stays(path, folder):
            raise refused(
                hub_cache.title(folder),
                f"holds {path.name}, a link to a place outside the model",
                _SAFE_ADVICE,
            )
        # A link to nothing holds nothing: whoever needs that file finds it missing.
        if path.exists() and not path.is_file():
            raise refused(
                hub_cache.title(folder), f"holds {path.name}, which is not a plain file", _SAFE_ADVICE
            )


def is_unsafe(name: str) -> bool:
    """Whether a file of this name can run code when it is read."""
    return PurePath(name).suffix.lower() in _UNSAFE_SUFFIXES


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in files)
        # Links to folders are listed here and not entered.
        yield from (path for name in folders if (path := Path(parent, name)).is_symlink())


def _stays(link: Path, folder: Path) -> bool:
    """Whether a link leads into the folder, or into the blobs beside it as in a Hub cache's snapshots."""
    target = link.resolve()
    return target.is_relative_to(folder.resolve()) or target.is_relative_to(hub_cache.blobs(folder))


def check_json(folder: Path) -> None:
    """Look into every small JSON file for a key that asks for code.

    Raises:
        EngineError: REFUSED.
    """
    for path in sorted(folder.glob("*.json")):
        if path.is_file() and path.name not in _TABLES and path.name != manifest.NAME:
            _check_asks_for_no_code(json_file.read(path, model_config.MAX_BYTES), path.name)


def _check_asks_for_no_code(value: Any, file: str) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if found := _CODE_KEYS & item.keys():
                raise refused(file, f"asks to run code that comes with it ({min(found)})", _CONVERTED_ADVICE)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
