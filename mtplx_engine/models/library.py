"""The installed models: list them, find them by name, remove them; the default model and times of last use."""

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
_PREFERENCES_FORMAT = 1
_DEFAULT = "default"


def installed_models(data: Path) -> tuple[InstalledModel, ...]:
    """Return all models: those in the data folder, those installed elsewhere, then those in the user's folders.

    Folders with only a drafting head are left out.
    """
    own = _own(data)
    known = {model.path.resolve() for model in own}
    return (*own, *(model for model in UserFolders(data).models() if model.path.resolve() not in known))


def _own(data: Path) -> tuple[InstalledModel, ...]:
    return (*_in_data(paths.models_dir(data)), *InstallFolders(data).models())


def _in_data(root: Path) -> tuple[InstalledModel, ...]:
    if not root.is_dir():
        return ()
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return tuple(describe_model(path) for path in sorted(folders) if not head_source.is_head_only(path))


def resolve_model(model: str, data: Path) -> Path:
    """Return the folder of a model, given as an absolute path, a name, or a relative path.

    Raises:
        EngineError: NOT_FOUND, with the models there are, or the disk that is missing; BAD_REQUEST, when several models
            have that name.
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
    """Return the model of a name or folder, whether its disk is connected or not.

    Raises:
        EngineError: NOT_FOUND, with the models there are; BAD_REQUEST, when several models have that name.
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
    """Check that a model's disk is connected; else raise NOT_FOUND."""
    if not model.there:
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{model.title} is in {model.place or model.path.parent}, which is not there at the moment. Connect its "
            "disk and try again.",
        )


def remove_model(folder: Path, data: Path) -> int:
    """Delete an installed model and return the bytes that were freed.

    Of a pair only the join is deleted, since both of its folders are the user's own. `folder` is as listed; it is not
    a name, which another model may have too.

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
    preferences = ModelPreferences(data)
    if preferences.default() == found.path:
        preferences.set_default(None)
    return freed


def forget_model(folder: Path, data: Path) -> None:
    """Stop listing the models of a folder that the user added or once chose for new ones; nothing in it is touched.

    Raises:
        EngineError: NOT_FOUND, when it was neither; BAD_REQUEST, while new models go there.
    """
    installs = InstallFolders(data)
    if folder in installs.all()[1:]:
        installs.forget(folder)
    else:
        UserFolders(data).forget(folder)


def head_folder(head: str, data: Path) -> Path:
    """Return the folder of a head: a head-only folder among the installed models, or else a path."""
    inside = paths.models_dir(data) / head
    return inside if os.sep not in head and head_source.is_head_only(inside) else paths.folder(head)


def called(name: str, found: Sequence[InstalledModel]) -> tuple[InstalledModel, ...]:
    """Return the models that a name matches: one, none, or several that it does not tell apart.

    Precedence: the folder's name of an installed model, that of one in a user's folder, any other name, and any name
    without regard to case.
    """
    lower = name.casefold()
    ways: tuple[Callable[[InstalledModel], bool], ...] = (
        lambda model: not model.place and name == model.path.name,
        lambda model: name == model.path.name,
        lambda model: name in _names(model),
        lambda model: lower in map(str.casefold, _names(model)),
    )
    matches = (tuple(filter(way, found)) for way in ways if name)
    return next(filter(None, matches), ())


def _names(model: InstalledModel) -> tuple[str, ...]:
    return model.path.name, model.name, model.title, model.repo


def handle(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    """Return a unique handle of a model among all: its name, or its folder where another one has that name too."""
    return model.name if called(model.name, found) == (model,) else str(model.path)


def check_one(name: str, meant: Sequence[InstalledModel], found: Sequence[InstalledModel]) -> None:
    """Check that a name, as typed, matches one model at most: `meant` among all that were `found`.

    Raises:
        EngineError: BAD_REQUEST, with the handles to type instead.
    """
    if len(meant) > 1:
        candidates = " and ".join(_candidate(model, found) for model in meant)
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f'"{name}" means {len(meant)} models: {candidates}. Say which one is meant.',
        )


def listed(found: Sequence[InstalledModel]) -> str:
    """Return the handles of models that can be loaded, in one line; "" when there are none."""
    usable = [model for model in found if model.complete and model.there]
    names = [handle(model, found) for model in usable[:_MOST_LISTED]]
    more = len(usable) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def choices(found: Sequence[InstalledModel]) -> tuple[tuple[str, str], ...]:
    """Return handle and unique title of each model that can be loaded."""
    titles = Counter(model.title for model in found)
    usable = ((model, handle(model, found)) for model in found if model.complete and model.there)
    return tuple(
        (typed, model.title if titles[model.title] == 1 else f"{model.title} ({typed})") for model, typed in usable
    )


def _candidate(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    typed = handle(model, found)
    by = f"by {model.owner}" if model.owner else ""
    place = f"in {model.path.parent}" if typed != str(model.path) else ""
    about = ", ".join(part for part in (by, place) if part)
    return f"{typed} ({about})" if about else typed


class ModelPreferences:
    """Times of last use and the default model; the app and the command share them."""

    def __init__(self, data: Path) -> None:
        self._used = JsonStore(data / "used.json", _PREFERENCES_FORMAT)
        self._chosen = JsonStore(data / "chosen.json", _PREFERENCES_FORMAT)

    def note_use(self, folder: Path, now_s: float | None = None) -> None:
        """Store when the model in a folder was loaded, by default now, in seconds since 1970."""
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
        """Choose the default model, None for the starter; raises STORAGE, when it cannot be stored."""
        self._chosen.put(_DEFAULT, str(folder) if folder else "")
        if self.default() != folder:
            raise EngineError(ErrorKind.STORAGE, "The choice could not be noted in the data folder. Make it writable.")
