"""Every check of a model folder before anything of it is loaded. Imports no mlx.

`check` runs them all and returns the `Checkpoint`: no file that runs code, no configuration that asks for code,
complete weight files with sound headers, a tokenizer whose ids the embedding has, tensors that agree with each other.
"""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import (
    config_checks,
    head_source,
    hub_cache,
    json_files,
    manifest,
    safetensors_header,
    stored_tensors,
)
from mtplx_engine.models.json_files import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.manifest import HeadBinding, Manifest
    from mtplx_engine.models.safetensors_header import TensorSpec


WEIGHT_INDEX = "model.safetensors.index.json"

_WEIGHT_PATTERN = "model*.safetensors"
_MAX_INDEX_BYTES = 128 << 20
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
# Their keys are tokens or tensor names, which may be spelt like one of `_CODE_KEYS`.
_TABLES = frozenset({config_checks.TOKENIZER_NAME, "vocab.json", WEIGHT_INDEX})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder that passed every check.

    Attributes:
        folder: The folder of its weights.
        config: The parsed config.json, a nested text_config laid flat.
        tensors: The model's own tensors, by name; those of its head are not among them.
        head: Its drafting head, None without one.
        manifest: Our installer's manifest of it, or of the pair that it is in; None in other folders.
    """

    folder: Path
    name: str
    config: dict[str, Any]
    tensors: Mapping[str, TensorSpec]
    head: HeadSource | None
    manifest: Manifest | None

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensors, the head's included."""
        return sum(spec.size for spec in self.tensors.values()) + (self.head.size if self.head else 0)


def check(folder: Path, *, tokenizer: bool = True) -> Checkpoint:
    """Check that a model folder is safe and sound, and return what its files declare.

    Without `tokenizer`, its tokenizer, which must be there anyway, and the data of a draft vocabulary are not read.

    Raises:
        EngineError: NOT_FOUND, when no model is there; REFUSED, when it is unsafe, damaged or incomplete;
            UNSUPPORTED, when its architecture is not supported.
    """
    pair = manifest.read_pair(folder)
    if pair is not None:
        folder = _target_of(*pair)
    if not folder.is_dir():
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {folder}; check the path.")
    _check_has_config(folder)
    try:
        return _check(folder, pair, tokenizer=tokenizer)
    except OSError as error:
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} cannot be read: {error.strerror}. Make it readable or choose another model.",
            repr(error),
        ) from error


def check_settings(folder: Path) -> None:
    """Run the checks of a model folder that need no weights, which are not there yet; raises as `check`."""
    _check_has_config(folder)
    check_files(folder)
    check_json(folder)
    config = config_checks.read_config(folder)
    config_checks.check_config(config)
    _check_tokenizer(folder, config["vocab_size"], read=True)


def _check_has_config(folder: Path) -> None:
    if not (folder / config_checks.CONFIG_NAME).exists():
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} holds no model: it has no config.json. Choose the folder that has one.",
        )


def _target_of(pair: Manifest, binding: HeadBinding) -> Path:
    """Return the model's folder of a pair; its head's folder must be there too."""
    for part in (Path(binding.target), Path(binding.folder)):
        if not part.is_dir():
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f'"{pair.name}" is joined from two folders, and {part} is not there. Put it back, or join them '
                "where they are now (mtplx models join).",
            )
    return Path(binding.target)


def _check(folder: Path, pair: tuple[Manifest, HeadBinding] | None, *, tokenizer: bool) -> Checkpoint:
    check_files(folder)
    for part in (folder, *head_source.head_only_folders(folder)):
        check_json(part)
    if pair is not None:
        head_folder = Path(pair[1].folder)
        check_files(head_folder)
        check_json(head_folder)
    if head_source.is_head_only(folder):
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{folder.name} holds a drafting head and no model of its own. Join it with the model that it was made "
            f"for (mtplx models join MODEL {folder.name}), and load the pair.",
        )
    written = json_files.read_json(folder / config_checks.CONFIG_NAME, config_checks.CONFIG_MAX_BYTES)
    config = config_checks.flat_config(written)
    config_checks.check_config(config)
    installed = manifest.read_manifest(folder)
    missing = manifest.missing_files(folder, installed) if installed else missing_weights(folder)
    if missing:
        count = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise refused(
            hub_cache.title(folder),
            f"is incomplete: {missing[0]}{count} is missing or not what was installed",
        )
    stored = weight_tensors(folder)
    installed = pair[0] if pair else installed
    head = head_source.find_head(folder, config, stored, installed.binding if installed else None)
    in_head = {(item.path, item.name) for item in head.locations} if head else set()
    check_promised(folder, stored.keys() | {name for _, name in in_head})
    tensors = {name: spec for name, spec in stored.items() if (folder / spec.file, name) not in in_head}
    _check_tokenizer(folder, _embedding_rows(tensors, config), read=tokenizer)
    stored_tensors.check_trunk(folder, written, tensors)
    if head and not head.problem:
        problem = stored_tensors.head_problem(config, head, tensors) or head_source.draft_vocabulary_problem(
            head.draft_vocabulary, config["vocab_size"], data=tokenizer
        )
        head = replace(head, problem=problem)
    return Checkpoint(
        folder=folder,
        name=installed.name if installed else hub_cache.title(folder),
        config=config,
        tensors=tensors,
        head=head,
        manifest=installed,
    )


def _embedding_rows(tensors: Mapping[str, TensorSpec], config: dict[str, Any]) -> int:
    """Return the number of rows that every embedding has: token ids below it are safe to look up."""
    rows: int = config["vocab_size"]
    for name, spec in tensors.items():
        if name.endswith("embed_tokens.weight") and spec.shape:
            rows = min(rows, spec.shape[0])
    return rows


def _check_tokenizer(folder: Path, rows: int, *, read: bool) -> None:
    if not (folder / config_checks.TOKENIZER_NAME).is_file():
        raise refused(hub_cache.title(folder), f"has no {config_checks.TOKENIZER_NAME}")
    if read:
        config_checks.check_tokenizer_ids(folder, rows)
        config_checks.chat_template_problem(folder)  # it may have none, but none that transformers cannot read


def check_files(folder: Path) -> None:
    """Check every file name in a folder and below, without opening anything; raises REFUSED."""
    for count, path in enumerate(_walk(folder)):
        if count >= _MAX_ENTRIES:
            raise refused(hub_cache.title(folder), f"holds more than {_MAX_ENTRIES} files")
        if is_unsafe_file(path.name):
            raise refused(
                hub_cache.title(folder),
                f"holds {path.name}, which can run code when it is read",
                _SAFE_ADVICE,
            )
        if path.is_symlink() and not _stays_inside(path, folder):
            raise refused(
                hub_cache.title(folder),
                f"holds {path.name}, a link to a place outside the model",
                _SAFE_ADVICE,
            )
        # A dangling link passes: whoever needs that file finds it missing.
        if path.exists() and not path.is_file():
            raise refused(hub_cache.title(folder), f"holds {path.name}, which is not a plain file", _SAFE_ADVICE)


def is_unsafe_file(name: str) -> bool:
    """Whether a file of this name can run code when it is read."""
    return PurePath(name).suffix.lower() in _UNSAFE_SUFFIXES


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in files)
        # Links to folders are listed here and not entered.
        yield from (path for name in folders if (path := Path(parent, name)).is_symlink())


def _stays_inside(link: Path, folder: Path) -> bool:
    target = link.resolve()
    return target.is_relative_to(folder.resolve()) or target.is_relative_to(hub_cache.blobs(folder))


def check_json(folder: Path) -> None:
    """Check that no small JSON file has a key that asks for code; raises REFUSED."""
    for path in sorted(folder.glob("*.json")):
        if path.is_file() and path.name not in _TABLES and path.name != manifest.MANIFEST_NAME:
            _check_asks_for_no_code(json_files.read_json(path, config_checks.CONFIG_MAX_BYTES), path.name)


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


def missing_weights(folder: Path) -> tuple[str, ...]:
    """Return the names of weight files missing from `folder`; raises REFUSED, when the index is damaged."""
    promised = set(weight_index(folder).values())
    listed = {path.name for path in _weight_files(folder)} or {"model.safetensors"}
    return tuple(name for name in sorted(promised or listed) if not (folder / name).is_file())


def tensor_names(folder: Path) -> tuple[str, ...]:
    """Return the names of all tensors in the model's own files, from the index where there is one; raises REFUSED."""
    if table := weight_index(folder):
        return tuple(table)
    return tuple(name for path in _weight_files(folder) for name in safetensors_header.read(path))


def weight_tensors(folder: Path) -> dict[str, TensorSpec]:
    """Return the tensors of the model's own files; raises REFUSED for a damaged header or a tensor in two files."""
    found: dict[str, TensorSpec] = {}
    for path in _weight_files(folder):
        for name, spec in safetensors_header.read(path).items():
            if name in found:
                raise refused(path.name, f"holds {name[:100]!r}, which {found[name].file} holds too")
            found[name] = spec
    return found


def check_promised(folder: Path, names: AbstractSet[str]) -> None:
    """Check that tensors of these names are all that the index promises; raises REFUSED."""
    for name in weight_index(folder):
        if name not in names:
            raise refused(hub_cache.title(folder), f"lacks the tensor {name[:100]!r} that {WEIGHT_INDEX} promises")


def is_weight_file(name: str) -> bool:
    """Whether mlx-lm takes a model's weights from a file of this name."""
    return fnmatch.fnmatchcase(name, _WEIGHT_PATTERN) and "/" not in name


def _weight_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(_WEIGHT_PATTERN))


def weight_index(folder: Path) -> dict[str, str]:
    """Return which file each tensor is in, empty for a model without an index; raises REFUSED, when it is damaged."""
    if not (folder / WEIGHT_INDEX).exists():
        return {}
    table = json_files.read_json(folder / WEIGHT_INDEX, _MAX_INDEX_BYTES).get("weight_map")
    if not isinstance(table, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in table.values()
    ):
        raise refused(WEIGHT_INDEX, "does not say which file holds which tensor")
    return table
