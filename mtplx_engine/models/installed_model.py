"""What can be said of a model's folder from its names, sizes and index alone: enough for a list of many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError
from mtplx_engine.harmless import one_line
from mtplx_engine.models import head_source, hub_cache, manifest, model_config, weight_files

if TYPE_CHECKING:
    from mtplx_engine.models.manifest import HeadBinding, Manifest


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A folder that holds a model, or the remains of one, or joins a model and its head.

    Attributes:
        name: What `--model` takes: the folder's name, or OWNER/NAME in a Hugging Face cache.
        title: Name for people.
        path: The folder.
        size: Bytes of all its files, also of those that it uses elsewhere.
        has_head: Whether it has an MTP head in or beside its weights.
        complete: Whether nothing is missing.
        place: The folder of the person's that it was found in, where it is used and never changed; empty for
            models in the data folder.
        there: Whether its place is there; a disk may not be connected.
    """

    name: str
    title: str
    path: Path
    size: int
    has_head: bool
    complete: bool
    place: str = ""
    there: bool = True

    @property
    def repo(self) -> str:
        """What it is called at the hub, OWNER/NAME; "" when its name does not say that."""
        owner, _, name = self.name.replace("--", "/", 1).partition("/")
        return f"{owner}/{name}" if owner and name else ""

    @property
    def owner(self) -> str:
        """Whose it is at the hub, "" when its name does not say that."""
        return self.repo.partition("/")[0]


def describe(folder: Path, place: str = "") -> InstalledModel:
    """Return what a folder holds; `place` as above."""
    if pair := manifest.read_pair(folder):
        return _pair(folder, *pair, place)
    noted = manifest.read(folder)
    if noted:
        complete = manifest.is_complete(folder, noted)
    else:
        complete = (folder / model_config.NAME).is_file() and _has_all_weights(folder)
    name = hub_cache.title(folder)
    return InstalledModel(
        name=name,
        title=noted.name if noted else one_line(name),
        path=folder,
        size=size(folder),
        has_head=_has_head(folder),
        complete=complete,
        place=place,
    )


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _pair(folder: Path, noted: Manifest, binding: HeadBinding, place: str) -> InstalledModel:
    target, head = describe(Path(binding.target)), Path(binding.folder)
    return InstalledModel(
        name=folder.name,
        title=noted.name,
        path=folder,
        size=target.size + size(head),
        has_head=True,
        complete=target.complete and head_source.is_head_only(head),
        place=place,
    )


def _has_all_weights(folder: Path) -> bool:
    try:
        return not weight_files.missing(folder)
    except EngineError:
        return False


def _has_head(folder: Path) -> bool:
    try:
        return head_source.is_there(folder, weight_files.tensor_names(folder))
    except (EngineError, OSError):
        return False
