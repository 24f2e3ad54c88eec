"""Reads and checks a model folder before anything of it is loaded; imports no mlx, numpy or transformers.

What passes holds no code and no pickles, asks for none, and its sizes, shapes and ids add up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import (
    completeness,
    head_source,
    json_file,
    manifest,
    memory_need,
    model_config,
    safetensors_header,
    tokenizer_ids,
)
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.manifest import HeadBinding, Manifest
    from mtplx_engine.models.safetensors_header import TensorSpec

INDEX = "model.safetensors.index.json"

_MAX_ENTRIES = 10_000
_MAX_TABLE_BYTES = 128 << 20
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
_SAFE_ADVICE = "choose a model in safetensors form, without code"
# Keys of these are words or tensor names, where any word is innocent.
_TABLES = frozenset({"tokenizer.json", "vocab.json", INDEX})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder that was found sound.

    Attributes:
        folder: Where its weights are.
        name: Name for people.
        config: The parsed config.json, a nested text_config laid flat.
        tensors: The model's own tensors, by name; those of its head are not among them.
        head: Its drafting head, None without one.
        unchecked: Why its tensors were not compared with its config.json, one sentence; empty when they were.
        manifest: What an installer of ours noted of it, or of the pair that it is in; None in other folders.
    """

    folder: Path
    name: str
    config: dict[str, Any]
    tensors: Mapping[str, TensorSpec]
    head: HeadSource | None
    unchecked: str
    manifest: Manifest | None

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensors, the head's included."""
        return sum(spec.size for spec in self.tensors.values()) + (self.head.size if self.head else 0)


def check(folder: Path) -> Checkpoint:
    """Read what a model folder says of itself and check that it is safe and sound.

    Raises:
        EngineError: NOT_FOUND, when no model is there; REFUSED, when it is unsafe, damaged, incomplete or larger
            than this machine's memory; UNSUPPORTED, when its architecture is not on our list.
    """
    pair = manifest.read_pair(folder)
    if pair is not None:
        folder = _target_of(*pair)
    if not folder.is_dir():
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {folder}; check the path.")
    if not (folder / model_config.NAME).exists():
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} holds no model: it has no config.json. Choose the folder that has one.",
        )
    try:
        found = _check(folder, pair)
    except OSError as error:
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} cannot be read: {error.strerror}. Make it readable or choose another model.",
            repr(error),
        ) from error
    memory_need.check_fits(found.name, memory_need.of(found.config, found.tensors, found.head))
    return found


def missing_weights(folder: Path) -> tuple[str, ...]:
    """Return the names of weight files that should be in `folder` but are not.

    Raises:
        EngineError: REFUSED, when the index is damaged.
    """
    if (folder / INDEX).exists():
        return tuple(name for name in sorted(_indexed(folder).values()) if not (folder / name).is_file())
    return () if _weight_files(folder) else ("model.safetensors",)


def tensor_names(folder: Path) -> tuple[str, ...]:
    """Return the names of all tensors in the model's own files, without checking more than it must.

    Raises:
        EngineError: REFUSED, when index or headers are damaged.
    """
    if (folder / INDEX).exists():
        return tuple(_indexed(folder))
    return tuple(name for path in _weight_files(folder) for name in safetensors_header.read(path))


def _target_of(pair: Manifest, binding: HeadBinding) -> Path:
    """Return where the model of a pair is; its head must be in its place too."""
    for part in (Path(binding.target), Path(binding.folder)):
        if not part.is_dir():
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f'"{pair.name}" is joined from two folders, and {part} is not there. Put it back, or join them '
                "where they are now (mtplx models join).",
            )
    return Path(binding.target)


def _check(folder: Path, pair: tuple[Manifest, HeadBinding] | None) -> Checkpoint:
    _check_files(folder)
    inner = (path for path in folder.glob(f"*/{model_config.NAME}") if head_source.is_head_only(path.parent))
    _check_json((*folder.glob("*.json"), *inner))
    if pair is not None:
        apart = Path(pair[1].folder)
        _check_files(apart)
        _check_json(apart.glob("*.json"))
    if head_source.is_head_only(folder):
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{folder.name} holds a drafting head and no model of its own. Join it with the model that it was made "
            f"for (mtplx models join MODEL {folder.name}), and load the pair.",
        )
    written = json_file.read(folder / model_config.NAME, model_config.MAX_BYTES)
    config = model_config.flat(written)
    model_config.check(config)
    noted = manifest.read(folder)
    missing = manifest.missing(folder, noted) if noted else missing_weights(folder)
    if missing:
        count = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise refused(folder.name, f"is incomplete: {missing[0]}{count} is missing or not what was installed")
    every = _tensors(folder)
    noted = pair[0] if pair else noted
    head = head_source.find(folder, config, every, noted.binding if noted else None)
    in_head = {(item.path, item.name) for item in head.tensors.values()} if head else set()
    _check_promised(folder, every.keys() | {name for _, name in in_head})
    tensors = {name: spec for name, spec in every.items() if (folder / spec.file, name) not in in_head}
    _check_tokenizer(folder, _embedding_rows(tensors, config))
    unchecked = completeness.check_trunk(folder, written, tensors)
    if head and not head.problem:
        head = replace(head, problem=completeness.head_problem(config, head))
    return Checkpoint(
        folder=folder,
        name=noted.name if noted else folder.name,
        config=config,
        tensors=tensors,
        head=head,
        unchecked=unchecked,
        manifest=noted,
    )


def _check_files(folder: Path) -> None:
    """Look at every name, without opening anything."""
    for count, path in enumerate(_walk(folder)):
        if count >= _MAX_ENTRIES:
            raise refused(folder.name, f"holds more than {_MAX_ENTRIES} files")
        if path.suffix.lower() in _UNSAFE_SUFFIXES:
            raise refused(folder.name, f"holds {path.name}, which can run code when it is read", _SAFE_ADVICE)
        if path.is_symlink() and not _stays(path, folder):
            raise refused(
                folder.name, f"holds {path.name}, a link to a place outside the model", _SAFE_ADVICE
            )
        if not path.is_file():
            raise refused(folder.name, f"holds {path.name}, which is not a plain file", _SAFE_ADVICE)


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in files)
        # Links to folders are listed here and not entered.
        yield from (path for name in folders if (path := Path(parent, name)).is_symlink())


def _stays(link: Path, folder: Path) -> bool:
    """Whether a link leads into the folder, or into the blobs beside it as in a Hub cache's snapshots."""
    root = folder.resolve()
    target = link.resolve()
    return target.is_relative_to(root) or target.is_relative_to(root.parent.parent / "blobs")


def _check_json(paths: Iterable[Path]) -> None:
    """Look into every small JSON file for a key that asks for code."""
    for path in sorted(paths):
        if path.name not in _TABLES and path.name != manifest.NAME:
            _check_asks_for_no_code(json_file.read(path, model_config.MAX_BYTES), path.name)


def _check_asks_for_no_code(value: Any, file: str) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if found := _CODE_KEYS & item.keys():
                raise refused(file, f"asks to run code that comes with it ({min(found)})", _SAFE_ADVICE)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _weight_files(folder: Path) -> list[Path]:
    """Return the files that mlx-lm takes a model's weights from."""
    return sorted(folder.glob("model*.safetensors"))


def _indexed(folder: Path) -> dict[str, str]:
    """Return which file each tensor is in, from the index of a model in several files."""
    table = json_file.read(folder / INDEX, _MAX_TABLE_BYTES).get("weight_map")
    if not isinstance(table, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in table.values()
    ):
        raise refused(INDEX, "does not say which file holds which tensor")
    return table


def _tensors(folder: Path) -> dict[str, TensorSpec]:
    tensors: dict[str, TensorSpec] = {}
    for path in _weight_files(folder):
        for name, spec in safetensors_header.read(path).items():
            if name in tensors:
                raise refused(path.name, f"holds {name[:100]!r}, which {tensors[name].file} holds too")
            tensors[name] = spec
    return tensors


def _check_promised(folder: Path, names: AbstractSet[str]) -> None:
    for name in _indexed(folder) if (folder / INDEX).exists() else ():
        if name not in names:
            raise refused(folder.name, f"lacks the tensor {name[:100]!r} that {INDEX} promises")


def _embedding_rows(tensors: Mapping[str, TensorSpec], config: dict[str, Any]) -> int:
    """Return below which number token ids are safe to look up."""
    rows: int = config["vocab_size"]
    for name, spec in tensors.items():
        if name.endswith("embed_tokens.weight") and spec.shape:
            rows = min(rows, spec.shape[0])
    return rows


def _check_tokenizer(folder: Path, rows: int) -> None:
    path, settings = folder / tokenizer_ids.NAME, folder / "tokenizer_config.json"
    if not path.is_file():
        raise refused(folder.name, "has no tokenizer.json")
    found = tokenizer_ids.largest(
        json_file.read(path, _MAX_TABLE_BYTES),
        json_file.read(settings, model_config.MAX_BYTES) if settings.is_file() else {},
    )
    if found >= rows:
        raise refused(
            tokenizer_ids.NAME, f"has token ids up to {found}, but the model has only {rows} of them"
        )
