"""Where things are: the user's data folder and the resources that ship with the code."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path, user_log_path

from mtplx_engine.errors import EngineError, ErrorKind

APP_NAME = "MTPLX"


def data_dir(override: str | Path | None = None) -> Path:
    """Return the folder that holds models, chats and settings; it may not exist yet.

    Raises:
        EngineError: BAD_REQUEST, when the override cannot be a path.
    """
    return folder(override) if override else user_data_path(APP_NAME, appauthor=False)


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
    """Return the folder of the rotating logs; beside the data when the data folder is overridden."""
    return data_dir(override) / "logs" if override else user_log_path(APP_NAME, appauthor=False)


def bundle() -> Path | None:
    """Return the macOS app that this code is inside of; None in a checkout or a wheel."""
    outside = (folder for folder in resources().parents if folder.suffix == ".app")
    return next((folder for folder in outside if (folder / "Contents" / "Info.plist").is_file()), None)


def resources() -> Path:
    """Return the folder that ships beside the packages (a checkout, a wheel or the app bundle alike)."""
    return Path(__file__).resolve().parent.parent / "resources"
