"""Folders of the person's own with models in them, used where they are and never changed; and the hub's cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.json_store import JsonStore
from mtplx_engine.models import head_source, hub_cache, installed_model, model_config
from mtplx_engine.models.last_seen import LastSeen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_engine.models.installed_model import InstalledModel

_NAME, _FORMAT = "places.json", 1
_DEEPEST = 2  # folders below a place in which models are looked for, as in OWNER/NAME
_MOST = 1000  # folders of a place that are looked at


class Places:
    """What the person added; shared by the window and the command.

    Of each place it is kept what was in it, so that its models stay in the list while its disk is not connected.

    Args:
        data: The data folder.
        cache: The cache of Hugging Face's programs, which needs not be added.
    """

    def __init__(self, data: Path, cache: Path | None = None) -> None:
        self._kept = JsonStore(data / _NAME, _FORMAT)
        self._seen = LastSeen(self._kept)
        self._cache = hub_cache.folder() if cache is None else cache

    def added(self) -> tuple[Path, ...]:
        """Return the folders that the person added."""
        return tuple(Path(key) for key in self._kept.all())

    def add(self, folder: Path) -> tuple[InstalledModel, ...]:
        """Add a folder, however its path is written, and return the models in it.

        Raises:
            EngineError: NOT_FOUND, when it is no folder or has no model; BAD_REQUEST, when it is a whole system;
                STORAGE, when it cannot be noted.
        """
        if not folder.is_dir():
            raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {folder}; check the path.")
        folder = folder.resolve()
        if folder == folder.parent:
            raise EngineError(
                ErrorKind.BAD_REQUEST,
                f"{folder} holds the whole system; add the folder in it that has the models.",
            )
        found = _scan(folder)
        if not found:
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f"{folder} has no model in it, nor have the folders below it: none of them has a config.json.",
            )
        if not self._seen.note(folder, found):
            raise EngineError(
                ErrorKind.STORAGE, "The folder could not be noted in the data folder. Make it writable."
            )
        return found

    def forget(self, folder: Path) -> None:
        """Take a folder off the list; nothing in it is touched.

        Raises:
            EngineError: NOT_FOUND, when it was never added.
        """
        added = self.added()
        noted = folder if folder in added else folder.resolve()
        if noted not in added:
            raise EngineError(
                ErrorKind.NOT_FOUND, f"{folder} is not among the added folders; `mtplx models` lists them."
            )
        self._kept.drop(str(noted))

    def models(self) -> tuple[InstalledModel, ...]:
        """Return the models in all places, each once; those on a disk that is not connected as they were last seen."""
        cached = _scan(self._cache) if self._cache.is_dir() else ()
        added = (model for place in self.added() for model in self._models(place))
        return tuple({model.path.resolve(): model for model in (*cached, *added)}.values())

    def _models(self, place: Path) -> tuple[InstalledModel, ...]:
        found = _scan(place) if place.is_dir() else ()
        # Where a disk is mounted an empty folder may stay when it is not.
        return self._seen.models(place, found, there=bool(found))


def _scan(place: Path) -> tuple[InstalledModel, ...]:
    """Return the models in a place: itself, what is below it, or the snapshots of a Hugging Face cache."""
    found = (_model(folder, place) for folder in hub_cache.snapshots(place) or _folders(place))
    return tuple(model for model in found if model is not None)


def _model(folder: Path, place: Path) -> InstalledModel | None:
    """Return the model in a folder, None when it holds none or may not be read."""
    try:
        is_model = (folder / model_config.NAME).exists() and not head_source.is_head_only(folder)
        return installed_model.describe(folder, str(place)) if is_model else None
    except OSError:
        return None


def _folders(place: Path) -> Iterator[Path]:
    """Yield folders with a model, not those inside of one."""
    waiting = [(place, 0)]
    for _ in range(_MOST):
        if not waiting:
            return
        folder, depth = waiting.pop()
        try:
            if (folder / model_config.NAME).exists():
                yield folder
            elif depth < _DEEPEST:
                inner = (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
                waiting += [(path, depth + 1) for path in sorted(inner, reverse=True)]
        except OSError:
            continue  # a folder that may not be read
