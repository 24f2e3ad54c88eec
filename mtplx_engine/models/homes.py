"""The folders that models are installed in: the data folder's own, and those that the person chose in place of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.json_store import JsonStore
from mtplx_engine.models import installed_model, manifest, model_config
from mtplx_engine.models.last_seen import LastSeen

if TYPE_CHECKING:
    from mtplx_engine.models.installed_model import InstalledModel

INCOMING: Final = ".incoming"
"""The folder in which models grow. Where a disk was mounted an empty folder may stay, but without this one in it."""

_NAME, _FORMAT = "homes.json", 1
_CURRENT = "current"  # no path, as the other keys are


class Homes:
    """What is installed stays where it is and is found there, whichever folder is chosen for what comes next.

    Shared by the window and the command.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._own = paths.models_dir(data)
        self._kept = JsonStore(data / _NAME, _FORMAT)
        self._seen = LastSeen(self._kept)

    @property
    def own(self) -> Path:
        """The one in the data folder, which is made when it is needed."""
        return self._own

    @property
    def current(self) -> Path:
        """Where new models go."""
        found = self._kept.get(_CURRENT)
        return Path(found) if isinstance(found, str) and Path(found).is_absolute() else self._own

    def all(self) -> tuple[Path, ...]:
        """Return our own folder and all that were chosen at any time, whether they are there or not."""
        chosen = sorted(key for key in self._kept.all() if Path(key).is_absolute())
        return (self._own, *map(Path, chosen))

    def is_there(self, home: Path) -> bool:
        """Whether models can be read and installed in one of these folders; its disk may not be connected."""
        return home == self._own or (home / INCOMING).is_dir()

    def choose(self, folder: Path | None) -> None:
        """Let new models go to a folder; None for our own.

        Raises:
            EngineError: NOT_FOUND, when there is no such folder; BAD_REQUEST, when models cannot be installed in it;
                STORAGE, when it cannot be written to, or the choice cannot be noted.
        """
        home = self._own if folder is None else folder
        if home != self._own:
            self._check(home)
            if home not in self.all():
                self._seen.note(home, ())
        self._kept.put(_CURRENT, str(home))
        if self.current != home:
            raise EngineError(
                ErrorKind.STORAGE, "The choice could not be noted in the data folder. Make it writable."
            )

    def forget(self, folder: Path) -> None:
        """Look for models in a folder no more that was chosen once; nothing in it is touched.

        Raises:
            EngineError: BAD_REQUEST, while new models go there.
        """
        if folder == self.current:
            raise EngineError(
                ErrorKind.BAD_REQUEST, f"New models go to {folder}. Choose another folder for them first."
            )
        self._kept.drop(str(folder))

    def models(self) -> tuple[InstalledModel, ...]:
        """Return what we installed in chosen folders; what is on a disk that is not connected as it was last seen."""
        return tuple(model for home in self.all()[1:] for model in self._models(home))

    def _models(self, home: Path) -> tuple[InstalledModel, ...]:
        there = self.is_there(home)
        return self._seen.models(home, _installed(home) if there else (), there=there)

    def _check(self, home: Path) -> None:
        if not home.is_dir():
            raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {home}; make it, or check the path.")
        if (home / model_config.NAME).exists():
            raise EngineError(
                ErrorKind.BAD_REQUEST, f"{home} is a model's own folder; choose the one above it."
            )
        if self._own in home.parents:
            raise EngineError(
                ErrorKind.BAD_REQUEST, f"{home} is inside the usual models folder; choose one elsewhere."
            )
        try:
            (home / INCOMING).mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=home / INCOMING) as file:
                file.write(b"\0")
        except OSError as error:
            raise EngineError(
                ErrorKind.STORAGE,
                f"{home} cannot be written to ({error.strerror}), so no model can be kept there. Choose another "
                "folder.",
                repr(error),
            ) from error


def _installed(home: Path) -> tuple[InstalledModel, ...]:
    """Return the models in a folder that we installed; what else is there is the person's own."""
    try:
        folders = [path for path in sorted(home.iterdir()) if not path.name.startswith(".")]
        return tuple(installed_model.describe(path) for path in folders if manifest.read(path) is not None)
    except OSError:  # the disk went in between
        return ()
