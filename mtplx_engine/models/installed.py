"""The models that there are, and what a name or a path on the command line means."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import head_source, naming
from mtplx_engine.models.habits import Habits
from mtplx_engine.models.homes import Homes
from mtplx_engine.models.installed_model import describe, size
from mtplx_engine.models.places import Places

if TYPE_CHECKING:
    from mtplx_engine.models.installed_model import InstalledModel


def models(data: Path) -> tuple[InstalledModel, ...]:
    """Return all models: those that are installed, the ones in the data folder first, then the person's places.

    Folders with only a drafting head are none.
    """
    own = _own(data)
    known = {model.path.resolve() for model in own}
    return (*own, *(model for model in Places(data).models() if model.path.resolve() not in known))


def _own(data: Path) -> tuple[InstalledModel, ...]:
    """Return what is installed, whether its disk is connected or not."""
    return (*_in_data(paths.models_dir(data)), *Homes(data).models())


def _in_data(root: Path) -> tuple[InstalledModel, ...]:
    if not root.is_dir():
        return ()
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return tuple(describe(path) for path in sorted(folders) if not head_source.is_head_only(path))


def resolve(model: str, data: Path) -> Path:
    """Return the folder that `model` means: a path, a model's name, or else a path from here.

    Raises:
        EngineError: NOT_FOUND, saying what there is, or which disk is missing; BAD_REQUEST, when several models have
            that name.
    """
    folder = head_folder(model, data)
    if model and Path(model).is_absolute() and folder.is_dir():
        return folder
    found = models(data)
    meant = naming.called(model, found)
    meant = tuple(item for item in meant if item.there) or meant
    naming.check_one(model, meant, found)
    if meant:
        _check_there(meant[0])
        return meant[0].path
    if model and folder.is_dir():
        return folder
    if os.sep in model:
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no model folder {folder}; check the path.")
    raise _unknown(model, found)


def find(model: str, data: Path) -> InstalledModel:
    """Return the one model that a name or the path of its folder means, whether its disk is connected or not.

    Raises:
        EngineError: NOT_FOUND, saying what there is; BAD_REQUEST, when several models have that name.
    """
    found = models(data)
    meant = naming.called(model, found)
    if not meant and os.sep in model:
        meant = tuple(item for item in found if item.path == paths.folder(model))
    naming.check_one(model, meant, found)
    if not meant:
        raise _unknown(model, found)
    return meant[0]


def _unknown(model: str, found: tuple[InstalledModel, ...]) -> EngineError:
    names = naming.listed(found)
    return EngineError(
        ErrorKind.NOT_FOUND,
        f'No model is called "{model}". '
        + (f"There are: {names}. " if names else "None is installed. ")
        + "Give one of these names or the path of a model folder.",
    )


def _check_there(model: InstalledModel) -> None:
    """Check that a model's disk is connected.

    Raises:
        EngineError: NOT_FOUND.
    """
    if not model.there:
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{model.title} is in {model.place or model.path.parent}, which is not there at the moment. Connect its "
            "disk and try again.",
        )


def remove(folder: Path, data: Path) -> int:
    """Delete an installed model; of a pair only that it is one, since both folders are the person's own.

    Args:
        folder: The model's, as it is listed; no name, since two models may have the same one.
        data: The data folder.

    Returns:
        Bytes that are free again.

    Raises:
        EngineError: NOT_FOUND, when none is installed there; STORAGE, when it cannot be deleted.
    """
    found = next((model for model in _own(data) if model.path == folder), None)
    if found is None:
        is_own = any(model.path == folder for model in Places(data).models())
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} is your own, and nothing of that is ever deleted by MTPLX."
            if is_own
            else f"No model is installed in {folder}; `mtplx models` lists them.",
        )
    _check_there(found)
    freed = size(found.path)
    try:
        # A link under the models folder leads to somebody else's files.
        found.path.unlink() if found.path.is_symlink() else shutil.rmtree(found.path)
    except OSError as error:
        raise EngineError(
            ErrorKind.STORAGE,
            f"{found.title} could not be deleted ({error.strerror}). Close what uses it and try again.",
            repr(error),
        ) from error
    habits = Habits(data)
    if habits.default() == found.path:
        habits.set_default(None)
    return freed


def forget(folder: Path, data: Path) -> None:
    """Look for models in a folder no more that the person added, or chose for new ones once; nothing in it is touched.

    Raises:
        EngineError: NOT_FOUND, when it was neither; BAD_REQUEST, while new models go there.
    """
    homes = Homes(data)
    if folder in homes.all()[1:]:
        homes.forget(folder)
    else:
        Places(data).forget(folder)


def head_folder(head: str, data: Path) -> Path:
    """Return the folder that `head` means: a head-only folder among the installed models, or else a path."""
    inside = paths.models_dir(data) / head
    return inside if os.sep not in head and head_source.is_head_only(inside) else paths.folder(head)
