"""The models in the data folder, and what a name or a path on the command line means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import head_source, manifest, model_config, weight_files

if TYPE_CHECKING:
    from mtplx_engine.models.manifest import HeadBinding, Manifest


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A folder under the data folder that holds a model, or the remains of one, or joins a model and its head.

    Attributes:
        name: The folder's name, which `--model` takes.
        title: Name for people.
        path: The folder.
        size: Bytes of all its files, also of those that it uses elsewhere.
        has_head: Whether it has an MTP head in or beside its weights.
        complete: Whether nothing is missing.
    """

    name: str
    title: str
    path: Path
    size: int
    has_head: bool
    complete: bool


def models(data: Path) -> tuple[InstalledModel, ...]:
    """Return the models under the data folder `data`, by name; folders with only a drafting head are none."""
    root = paths.models_dir(data)
    if not root.is_dir():
        return ()
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return tuple(_model(path) for path in sorted(folders) if not head_source.is_head_only(path))


def resolve(model: str, data: Path) -> Path:
    """Return the folder that `model` means: an installed model's name, or else a path.

    Raises:
        EngineError: NOT_FOUND, saying what is installed.
    """
    found = models(data)
    for item in found:
        if model.casefold() in (item.name.casefold(), item.title.casefold()):
            return item.path
    folder = head_folder(model, data)
    if model and folder.is_dir():
        return folder
    if os.sep in model:
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no model folder {folder}; check the path.")
    names = ", ".join(item.name for item in found if item.complete)
    raise EngineError(
        ErrorKind.NOT_FOUND,
        f'No model is called "{model}". '
        + (f"Installed: {names}. " if names else "None is installed. ")
        + "Give one of these names or the path of a model folder.",
    )


def head_folder(head: str, data: Path) -> Path:
    """Return the folder that `head` means: a head-only folder among the installed models, or else a path."""
    inside = paths.models_dir(data) / head
    return inside if os.sep not in head and head_source.is_head_only(inside) else paths.folder(head)


def _pair(folder: Path, noted: Manifest, binding: HeadBinding) -> InstalledModel:
    target, head = _model(Path(binding.target)), Path(binding.folder)
    return InstalledModel(
        name=folder.name,
        title=noted.name,
        path=folder,
        size=target.size + _size(head),
        has_head=True,
        complete=target.complete and head_source.is_head_only(head),
    )


def _model(folder: Path) -> InstalledModel:
    if pair := manifest.read_pair(folder):
        return _pair(folder, *pair)
    noted = manifest.read(folder)
    if noted:
        complete = manifest.is_complete(folder, noted)
    else:
        complete = (folder / model_config.NAME).is_file() and _has_all_weights(folder)
    return InstalledModel(
        name=folder.name,
        title=noted.name if noted else folder.name,
        path=folder,
        size=_size(folder),
        has_head=_has_head(folder),
        complete=complete,
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


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
