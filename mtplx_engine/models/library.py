"""The list of installed models, the names users call them by, and the default model."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import head_source
from mtplx_engine.models.folders import InstallFolders, UserFolders, describe_model, model_size
from mtplx_engine.util.files import JsonStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.models.folders import InstalledModel


_MOST_LISTED = 20


def called(name: str, found: Sequence[InstalledModel]) -> tuple[InstalledModel, ...]:
    """Return the models that a name means: one, none, or several that it does not tell apart.

    A folder's own name comes before what people call a model, a model that we installed before one of the person's
    own with such a folder, and letters as they are before letters in any case.
    """
    for does_mean in _WAYS if name else ():
        meant = tuple(model for model in found if does_mean(name, model))
        if meant:
            return meant
    return ()


def _is_ours(name: str, model: InstalledModel) -> bool:
    return not model.place and name == model.path.name


def _is_folder(name: str, model: InstalledModel) -> bool:
    return name == model.path.name


def _is_name(name: str, model: InstalledModel) -> bool:
    return name in (model.name, model.title, model.repo)


def _is_name_in_any_case(name: str, model: InstalledModel) -> bool:
    names = (model.path.name, model.name, model.title, model.repo)
    return name.casefold() in (own.casefold() for own in names)


_WAYS: tuple[Callable[[str, InstalledModel], bool], ...] = (
    _is_ours,
    _is_folder,
    _is_name,
    _is_name_in_any_case,
)


def handle(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    """Return what means this one of all models: its name, or its folder where another one has that name too."""
    return model.name if called(model.name, found) == (model,) else str(model.path)


def check_one(name: str, meant: Sequence[InstalledModel], found: Sequence[InstalledModel]) -> None:
    """Check that a name does not mean several models.

    Args:
        name: What was typed.
        meant: The models that it means.
        found: All models.

    Raises:
        EngineError: BAD_REQUEST, with what to type instead.
    """
    if len(meant) > 1:
        candidates = " and ".join(_candidate(model, found) for model in meant)
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f'"{name}" means {len(meant)} models: {candidates}. Say which one is meant.',
        )


def listed(found: Sequence[InstalledModel]) -> str:
    """Return the names of models that can be loaded, in a line; "" when there are none."""
    usable = [model for model in found if model.complete and model.there]
    names = [handle(model, found) for model in usable[:_MOST_LISTED]]
    more = len(usable) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def choices(found: Sequence[InstalledModel]) -> tuple[tuple[str, str], ...]:
    """Return what means each model that can be loaded, and a title that no other one has."""
    titles = Counter(model.title for model in found)
    usable = ((model, handle(model, found)) for model in found if model.complete and model.there)
    return tuple(
        (typed, model.title if titles[model.title] == 1 else f"{model.title} ({typed})")
        for model, typed in usable
    )


def _candidate(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    typed = handle(model, found)
    by = f"by {model.owner}" if model.owner else ""
    place = f"in {model.path.parent}" if typed != str(model.path) else ""
    about = ", ".join(part for part in (by, place) if part)
    return f"{typed} ({about})" if about else typed


_FORMAT = 1
_DEFAULT = "default"


class ModelPreferences:
    """Shared by the window and the command.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._used = JsonStore(data / "used.json", _FORMAT)
        self._chosen = JsonStore(data / "chosen.json", _FORMAT)

    def note_use(self, folder: Path, now_s: float | None = None) -> None:
        """Note that the model in a folder was loaded, by default now (in seconds since 1970)."""
        self._used.put(str(folder), round(time.time() if now_s is None else now_s))

    def last_used(self, folder: Path) -> int | None:
        """Return when the model in a folder was loaded last, in seconds since 1970; None when never."""
        found = self._used.get(str(folder))
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def default(self) -> Path | None:
        """Return the folder of the default model, None for the starter."""
        found = self._chosen.get(_DEFAULT)
        return Path(found) if isinstance(found, str) and found else None

    def set_default(self, folder: Path | None) -> None:
        """Choose the default model; None for the starter.

        Raises:
            EngineError: STORAGE, when that cannot be noted.
        """
        self._chosen.put(_DEFAULT, str(folder) if folder else "")
        if self.default() != folder:
            raise EngineError(
                ErrorKind.STORAGE, "The choice could not be noted in the data folder. Make it writable."
            )


def installed_models(data: Path) -> tuple[InstalledModel, ...]:
    """Return all models: those that are installed, the ones in the data folder first, then the person's places.

    Folders with only a drafting head are none.
    """
    own = _own(data)
    known = {model.path.resolve() for model in own}
    return (*own, *(model for model in UserFolders(data).models() if model.path.resolve() not in known))


def _own(data: Path) -> tuple[InstalledModel, ...]:
    """Return what is installed, whether its disk is connected or not."""
    return (*_in_data(paths.models_dir(data)), *InstallFolders(data).models())


def _in_data(root: Path) -> tuple[InstalledModel, ...]:
    if not root.is_dir():
        return ()
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return tuple(describe_model(path) for path in sorted(folders) if not head_source.is_head_only(path))


def resolve_model(model: str, data: Path) -> Path:
    """Return the folder that `model` means: a path, a model's name, or else a path from here.

    Raises:
        EngineError: NOT_FOUND, saying what there is, or which disk is missing; BAD_REQUEST, when several models have
            that name.
    """
    folder = head_folder(model, data)
    if model and Path(model).is_absolute() and folder.is_dir():
        return folder
    found = installed_models(data)
    meant = called(model, found)
    meant = tuple(item for item in meant if item.there) or meant
    check_one(model, meant, found)
    if meant:
        _check_there(meant[0])
        return meant[0].path
    if model and folder.is_dir():
        return folder
    if os.sep in model:
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no model folder {folder}; check the path.")
    raise _unknown(model, found)


def find_model(model: str, data: Path) -> InstalledModel:
    """Return the one model that a name or the path of its folder means, whether its disk is connected or not.

    Raises:
        EngineError: NOT_FOUND, saying what there is; BAD_REQUEST, when several models have that name.
    """
    found = installed_models(data)
    meant = called(model, found)
    if not meant and os.sep in model:
        meant = tuple(item for item in found if item.path == paths.folder(model))
    check_one(model, meant, found)
    if not meant:
        raise _unknown(model, found)
    return meant[0]


def _unknown(model: str, found: tuple[InstalledModel, ...]) -> EngineError:
    names = listed(found)
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


def remove_model(folder: Path, data: Path) -> int:
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
        is_own = any(model.path == folder for model in UserFolders(data).models())
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} is your own, and nothing of that is ever deleted by MTPLX."
            if is_own
            else f"No model is installed in {folder}; `mtplx models` lists them.",
        )
    _check_there(found)
    freed = model_size(found.path)
    try:
        # A link under the models folder leads to somebody else's files.
        found.path.unlink() if found.path.is_symlink() else shutil.rmtree(found.path)
    except OSError as error:
        raise EngineError(
            ErrorKind.STORAGE,
            f"{found.title} could not be deleted ({error.strerror}). Close what uses it and try again.",
            repr(error),
        ) from error
    habits = ModelPreferences(data)
    if habits.default() == found.path:
        habits.set_default(None)
    return freed


def forget_model(folder: Path, data: Path) -> None:
    """Look for models in a folder no more that the person added, or chose for new ones once; nothing in it is touched.

    Raises:
        EngineError: NOT_FOUND, when it was neither; BAD_REQUEST, while new models go there.
    """
    homes = InstallFolders(data)
    if folder in homes.all()[1:]:
        homes.forget(folder)
    else:
        UserFolders(data).forget(folder)


def head_folder(head: str, data: Path) -> Path:
    """Return the folder that `head` means: a head-only folder among the installed models, or else a path."""
    inside = paths.models_dir(data) / head
    return inside if os.sep not in head and head_source.is_head_only(inside) else paths.folder(head)
