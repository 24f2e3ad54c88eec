"""Folders: the user's data, the logs, the app bundle, and the resources that ship with the code."""

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

    Raises EngineError BAD_REQUEST when the override cannot be a path, or when this user has no home folder.
    """
    return folder(override) if override else _at_home(user_data_path)


def folder(given: str | Path) -> Path:
    """Return the absolute path of a folder as the user writes it, `~` included.

    Raises EngineError BAD_REQUEST when it starts with `~` and the name of no user.
    """
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        raise EngineError(
            ErrorKind.BAD_REQUEST, f"There is no home folder as in {given}; give the whole path."
        ) from error


def models_dir(data: Path) -> Path:
    return data / "models"


def log_dir(override: str | Path | None = None) -> Path:
    """Return the folder of the rotating logs; beside the data folder if that is overridden. Raises as `data_dir`."""
    return data_dir(override) / "logs" if override else _at_home(user_log_path)


def _at_home(find: Callable[..., Path]) -> Path:
    try:
        return find(APP_NAME, appauthor=False)
    except RuntimeError as error:
        raise EngineError(
            ErrorKind.BAD_REQUEST, "This user has no home folder; choose another one with --data-dir."
        ) from error


def bundle() -> Path | None:
    """Return the macOS app bundle that contains this code; None in a checkout or a wheel."""
    apps = (folder for folder in resources().parents if folder.suffix == ".app")
    return next((folder for folder in apps if (folder / "Contents" / "Info.plist").is_file()), None)


def resources() -> Path:
    """Return the `resources` folder beside the packages, the same in a checkout, a wheel and the app bundle."""
    return Path(__file__).resolve().parent.parent / "resources"
