"""The manifest that an installer leaves in a model's folder (mtplx.json), and the recipe of the starter model.

A manifest lists the files of the model, how its drafting head is wired, and which head-only folder is bound to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.util import files
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mtplx_engine.util.formatting import Report


MANIFEST_NAME = "mtplx.json"
MANIFEST_FORMAT = 1
RECIPE_NAME = "recipe.json"
_BLOCK = 4 << 20
_LONGEST_NAME = 120


class Hidden(StrEnum):
    """Which hidden of the target the head reads."""

    AFTER_NORM = "after_norm"
    BEFORE_NORM = "before_norm"


class Concat(StrEnum):
    """Order of the two halves of the projection's input."""

    EMBEDDING_FIRST = "embedding_first"
    HIDDEN_FIRST = "hidden_first"


class Norms(StrEnum):
    """How the gains of the head's norms are stored."""

    PLAIN = "plain"
    PLUS_ONE = "plus_one"
    """As gain minus one: 1 must be added to all of them, once."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """One way of connecting a head."""

    hidden: Hidden = Hidden.AFTER_NORM
    concat: Concat = Concat.EMBEDDING_FIRST
    norms: Norms = Norms.PLAIN


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that must be there: its relative name with forward slashes, bytes, and sha256 in hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class HeadWiring:
    """How a drafting head is connected to its target model.

    Attributes:
        kind: Kind of drafter, "mtp".
        family: Architecture of the head's block, as in config.json's model_type.
        hidden: Which hidden the head reads: "after_norm" or "before_norm" of the target's final norm.
        concat: Order of the projection's input: "embedding_first" or "hidden_first".
        norms: "plain" gains as stored, or "plus_one".
        files: The files that hold it, beside the manifest.
    """

    kind: str
    family: str
    hidden: str
    concat: str
    norms: str
    files: tuple[str, ...]

    @property
    def wiring(self) -> Wiring:
        return Wiring(Hidden(self.hidden), Concat(self.concat), Norms(self.norms))


@dataclass(frozen=True, slots=True)
class HeadBinding:
    """Binds a folder with nothing but a drafting head to the one model that it was installed for.

    Attributes:
        folder: The head's folder: relative to the manifest, or absolute when the model is elsewhere too.
        target_sha256: Hash over some tensors of the model, see `head_source.target_fingerprint`.
        target: The model's absolute path when it is not beside the manifest but used in place, else empty.
    """

    folder: str
    hidden_size: int
    vocabulary: int
    layers: int
    target_sha256: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of an installed model, their source, and its drafting head.

    Attributes:
        id: Name of the folder, and the name that `--model` takes.
        licence: SPDX identifier.
        source: Origin of the weights, for display.
        revision: Counts up when the recipe changes and the model must be installed again.
        files: Every file of the model.
        head: How its drafting head is connected, None without one or when the probe has to find out.
        binding: The head-only folder that belongs to it, None without one.
        head_source: Origin of that folder's files, for display; "" without one.
    """

    id: str
    name: str
    licence: str
    source: str
    revision: int
    files: tuple[FileRecord, ...]
    head: HeadWiring | None = None
    binding: HeadBinding | None = None
    head_source: str = ""


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of `folder`, or None when there is none that this version understands."""
    try:
        return _parse(files.read_json(folder / MANIFEST_NAME))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def read_pair(folder: Path) -> tuple[Manifest, HeadBinding] | None:
    """Return the manifest of `folder` when it joins a model and a head that are elsewhere, else None."""
    found = read_manifest(folder)
    if found is None or found.binding is None or not found.binding.target:
        return None
    return found, found.binding


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into `folder`, after all files in it have reached the disk."""
    for record in manifest.files:
        files.sync(folder / record.name)
    files.sync(folder)
    body = {"format": MANIFEST_FORMAT, **dataclasses.asdict(manifest)}
    files.write_json(folder / MANIFEST_NAME, body, indent=1, end="\n")


def is_complete(folder: Path, manifest: Manifest) -> bool:
    """Whether every file of the manifest is in `folder` as it was installed."""
    return not missing_files(folder, manifest)


def missing_files(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """Return the names of the files that are not in `folder` as they were installed.

    The content of a file is read only when it was written to after the manifest, which comes last at an install.
    """
    _, installed_ns = _size_and_time(folder / MANIFEST_NAME)
    return tuple(item.name for item in manifest.files if not _is_as_recorded(folder, item, installed_ns))


def differing_files(folder: Path, manifest: Manifest, report: Report) -> tuple[str, ...]:
    """Read every file of the manifest and return the names of those that are not as they were installed."""
    total = max(sum(item.size for item in manifest.files), 1)
    wrong, done = [], 0
    for item in manifest.files:
        report(done / total, f"Checking, {item.name}")
        path = folder / item.name
        if _size_and_time(path)[0] != item.size or file_sha256(path) != item.sha256:
            wrong.append(item.name)
        done += item.size
    return tuple(wrong)


def record_files(folder: Path, names: Iterable[str]) -> tuple[FileRecord, ...]:
    return tuple(FileRecord(name, (folder / name).stat().st_size, file_sha256(folder / name)) for name in names)


def file_sha256(path: Path, check: Callable[[], None] = lambda: None) -> str:
    """Return the sha256 of a file's content, in hex; `check` is called before each part of it and may raise to stop."""
    found, block = hashlib.sha256(), bytearray(_BLOCK)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            check()
            found.update(memoryview(block)[:count])
    return found.hexdigest()


def parse_head(body: Mapping[str, Any]) -> HeadWiring:
    """Return the wiring in parsed JSON.

    Raises:
        TypeError: A field is unknown or missing.
        ValueError: It names an unknown wiring.
    """
    head = HeadWiring(**{**body, "files": tuple(body["files"])})
    _ = head.wiring
    return head


def _parse(body: dict[str, Any]) -> Manifest | None:
    if body.pop("format") != MANIFEST_FORMAT:
        return None
    files = tuple(FileRecord(**item) for item in body.pop("files"))
    if any(not isinstance(item.size, int) or not is_inside(item.name) for item in files):
        return None
    body["name"] = one_line(body["name"], _LONGEST_NAME)
    head, bound = body.pop("head"), body.pop("binding", None)
    binding = None if bound is None else HeadBinding(**bound)
    if binding is not None and not _is_placed(binding):
        return None
    return Manifest(**body, files=files, head=None if head is None else parse_head(head), binding=binding)


def _is_placed(binding: HeadBinding) -> bool:
    if binding.target:
        return Path(binding.target).is_absolute() and Path(binding.folder).is_absolute()
    return is_inside(binding.folder)


def is_inside(name: str) -> bool:
    """Whether the relative path `name` stays in the folder that it is relative to."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def _is_as_recorded(folder: Path, record: FileRecord, installed_ns: int) -> bool:
    path = folder / record.name
    size, modified_ns = _size_and_time(path)
    return size == record.size and (modified_ns <= installed_ns or file_sha256(path) == record.sha256)


def _size_and_time(path: Path) -> tuple[int, int]:
    """Return bytes and modification time in ns, (-1, 0) when there is no such file."""
    try:
        state = path.stat()
    except OSError:
        return -1, 0
    return state.st_size, state.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build a model: the wheel to download, the weights in it, and the head to add.

    Attributes:
        folder: The folder of the recipe and the head's files.
        id: Name of the installed folder.
        revision: Counts up when an installed model must be built again.
        requirement: The pinned requirement whose wheel holds the weights.
        weights: The GGUF file inside the wheel.
        generation: Content of generation_config.json: end tokens and the recommended sampling.
        head: How the drafting head is connected, and its files.
    """

    folder: Path
    id: str
    name: str
    licence: str
    revision: int
    requirement: str
    wheel: FileRecord
    weights: FileRecord
    generation: dict[str, Any]
    head: HeadWiring


def read_recipe(folder: Path) -> Recipe:
    body = json.loads((folder / RECIPE_NAME).read_bytes())
    return Recipe(
        **{
            **body,
            "folder": folder,
            "wheel": FileRecord(**body["wheel"]),
            "weights": FileRecord(**body["weights"]),
            "head": parse_head(body["head"]),
        }
    )
