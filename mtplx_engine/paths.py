"""Where things are: the user's data folder and the resources that ship with the code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path, user_log_path

from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable


APP_NAME = "MTPLX"


def data_dir(override: str | Path | None = None) -> Path:
    """Return the folder that holds models, chats and settings; it may not exist yet.

    Raises:
        EngineError: BAD_REQUEST, when the override cannot be a path, or when this user has no home folder.
    """
    return folder(override) if override else _at_home(user_data_path)


def folder(given: str | Path) -> Path:
    """Return the absolute path of a folder as a person writes it, `~` included.

    Raises:
        EngineError: BAD_REQUEST, when it begins with `~` and a name that nobody here has.
    """
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        raise EngineError(
            ErrorKind.BAD_REQUEST, f"There is no home folder as in {given}; give the whole path."
        ) from error


def models_dir(data: Path) -> Path:
    """Return the folder of installed models under the data folder `data`."""
    return data / "models"


def log_dir(override: str | Path | None = None) -> Path:
    """Return the folder of the rotating logs; beside the data when the data folder is overridden.

    Raises:
        EngineError: As `data_dir`.
    """
    return data_dir(override) / "logs" if override else _at_home(user_log_path)


def _at_home(find: Callable[..., Path]) -> Path:
    try:
        return find(APP_NAME, appauthor=False)
    except RuntimeError as error:
        raise EngineError(
            ErrorKind.BAD_REQUEST, "This user has no home folder; choose another one with --data-dir."
        ) from error


def bundle() -> Path | None:
    """Return the macOS app that this code is inside of; None in a checkout or a wheel."""
    outside = (folder for folder in resources().parents if folder.suffix == ".app")
    return next((folder for folder in outside if (folder / "Contents" / "Info.plist").is_file()), None)


def resources() -> Path:
    """Return the folder that ships beside the packages (a checkout, a wheel or the app bundle alike)."""
    return Path(__file__).resolve().parent.parent / "resources"
