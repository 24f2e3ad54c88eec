"""The models that there are, and what a name or a path on the command line means."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import head_source
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
    known = {model.path for model in own}
    return (*own, *(model for model in Places(data).models() if model.path not in known))


def _own(data: Path) -> tuple[InstalledModel, ...]:
    """Return what is installed, whether its disk is connected or not."""
    return (*_in_data(paths.models_dir(data)), *Homes(data).models())


def _in_data(root: Path) -> tuple[InstalledModel, ...]:
    if not root.is_dir():
        return ()
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return tuple(describe(path) for path in sorted(folders) if not head_source.is_head_only(path))


def resolve(model: str, data: Path) -> Path:
    """Return the folder that `model` means: an installed model's name, or else a path.

    Raises:
        EngineError: NOT_FOUND, saying what is installed, or which disk is missing.
    """
    found = _own(data)
    if (installed := _called(model, found)) is not None and installed.there:
        return installed.path
    folder = head_folder(model, data)
    if model and Path(model).is_absolute() and folder.is_dir():
        return folder
    if (elsewhere := _called(model, Places(data).models()) or installed) is not None:
        _check_there(elsewhere)
        return elsewhere.path
    if model and folder.is_dir():
        return folder
    if os.sep in model:
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no model folder {folder}; check the path.")
    names = ", ".join(item.name for item in found if item.complete and item.there)
    raise EngineError(
        ErrorKind.NOT_FOUND,
        f'No model is called "{model}". '
        + (f"Installed: {names}. " if names else "None is installed. ")
        + "Give one of these names or the path of a model folder.",
    )


def _called(name: str, found: tuple[InstalledModel, ...]) -> InstalledModel | None:
    """Return the model of this name, one that is there before one that is not; None without one."""
    named = [item for item in found if item.is_called(name)]
    return next((item for item in named if item.there), named[0] if named else None)


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


def remove(name: str, data: Path) -> int:
    """Delete an installed model; of a pair only that it is one, since both folders are the person's own.

    Args:
        name: Of the model or its folder; never a path.
        data: The data folder.

    Returns:
        Bytes that are free again.

    Raises:
        EngineError: NOT_FOUND, when it is not installed; STORAGE, when it cannot be deleted.
    """
    found = _called(name, _own(data))
    if found is None:
        elsewhere = _called(name, Places(data).models())
        if elsewhere is not None:
            sentence = (
                f"{elsewhere.title} is your own, in {elsewhere.path}; nothing there is ever deleted by MTPLX."
            )
            raise EngineError(ErrorKind.NOT_FOUND, sentence)
        raise EngineError(
            ErrorKind.NOT_FOUND, f'No installed model is called "{name}"; `mtplx models` lists them.'
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


def head_folder(head: str, data: Path) -> Path:
    """Return the folder that `head` means: a head-only folder among the installed models, or else a path."""
    inside = paths.models_dir(data) / head
    return inside if os.sep not in head and head_source.is_head_only(inside) else paths.folder(head)
