"""Models on disk: in the app's own folders, the user's folders, and on disks that are not mounted now."""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, config_checks, head_source, hub_cache, manifest
from mtplx_engine.util.files import JsonStore
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_engine.models.manifest import HeadBinding, Manifest


INCOMING: Final = ".incoming"
"""The subfolder for downloads in progress. It tells a connected disk from the empty folder of its mount point."""

_MODELS = "models"
_INSTALL_FOLDERS_FILE, _INSTALL_FOLDERS_FORMAT = "homes.json", 1
_CURRENT = "current"  # no path, as the other keys are
_USER_FOLDERS_FILE, _USER_FOLDERS_FORMAT = "places.json", 1
_DEEPEST = 2  # levels of folders that are searched below one that was added, as in OWNER/NAME
_MOST = 1000  # folders that are searched


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A folder that holds a model, or the remains of one, or joins a model and its head.

    Attributes:
        name: The name that `--model` takes: the folder's, or OWNER/NAME in a Hugging Face cache.
        size: Bytes of all its files, also of those outside that it uses.
        has_head: Whether it has an MTP head in or beside its weights.
        place: The user's folder that it was found in, where it is used and never changed; empty for installed models.
        there: Whether its disk is connected.
    """

    name: str
    title: str
    path: Path
    size: int
    has_head: bool
    complete: bool
    place: str = ""
    there: bool = True

    @property
    def repo(self) -> str:
        """Its repository at the hub, OWNER/NAME; "" when its name does not tell."""
        owner, _, name = self.name.replace("--", "/", 1).partition("/")
        return f"{owner}/{name}" if owner and name else ""

    @property
    def owner(self) -> str:
        return self.repo.partition("/")[0]


def describe_model(folder: Path, place: str = "") -> InstalledModel:
    if pair := manifest.read_pair(folder):
        return _pair(folder, *pair, place)
    installed = manifest.read_manifest(folder)
    if installed:
        complete = manifest.is_complete(folder, installed)
    else:
        complete = (folder / config_checks.CONFIG_NAME).is_file() and _has_all_weights(folder)
    name = hub_cache.title(folder)
    return InstalledModel(
        name=name,
        title=installed.name if installed else one_line(name),
        path=folder,
        size=model_size(folder),
        has_head=_has_head(folder),
        complete=complete,
        place=place,
    )


def model_size(folder: Path) -> int:
    """Return the bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _pair(folder: Path, pair: Manifest, binding: HeadBinding, place: str) -> InstalledModel:
    target, head = describe_model(Path(binding.target)), Path(binding.folder)
    return InstalledModel(
        name=folder.name,
        title=pair.name,
        path=folder,
        size=target.size + model_size(head),
        has_head=True,
        complete=target.complete and head_source.is_head_only(head),
        place=place,
    )


def _has_all_weights(folder: Path) -> bool:
    try:
        return not checkpoint.missing_weights(folder)
    except EngineError:
        return False


def _has_head(folder: Path) -> bool:
    try:
        return head_source.has_head(folder, checkpoint.tensor_names(folder))
    except (EngineError, OSError):
        return False


class OfflineModels:
    """Remembers the models of each folder, keyed by its path, for the time when its disk is not connected."""

    def __init__(self, store: JsonStore) -> None:
        self._store = store

    def note(self, folder: Path, models: tuple[InstalledModel, ...]) -> bool:
        """Store the models of a folder; return whether that could be written."""
        self._store.put(str(folder), {_MODELS: [_as_json(model) for model in models]})
        return self._store.get(str(folder)) is not None

    def models(self, folder: Path, found: tuple[InstalledModel, ...], *, there: bool) -> tuple[InstalledModel, ...]:
        """Return the models of a folder: those found, or those seen last while it is not `there`."""
        seen = self._seen(folder)
        if not there:
            return tuple(dataclasses.replace(model, there=False) for model in seen)
        if found != seen:
            self.note(folder, found)
        return found

    def _seen(self, folder: Path) -> tuple[InstalledModel, ...]:
        entry = self._store.get(str(folder))
        try:
            return tuple(InstalledModel(**{**item, "path": Path(item["path"])}) for item in entry[_MODELS])  # type: ignore[index]
        except (TypeError, KeyError):
            return ()


def _as_json(model: InstalledModel) -> dict[str, Any]:
    return {**dataclasses.asdict(model), "path": str(model.path)}


class InstallFolders:
    """The folders that models are installed in: one is current, and earlier choices keep their models.

    The app and the command share the stored choice.
    """

    def __init__(self, data: Path) -> None:
        self._own = paths.models_dir(data)
        self._store = JsonStore(data / _INSTALL_FOLDERS_FILE, _INSTALL_FOLDERS_FORMAT)
        self._seen = OfflineModels(self._store)

    @property
    def own(self) -> Path:
        """The one in the data folder, made when it is needed."""
        return self._own

    @property
    def current(self) -> Path:
        found = self._store.get(_CURRENT)
        return Path(found) if isinstance(found, str) and Path(found).is_absolute() else self._own

    def all(self) -> tuple[Path, ...]:
        """Return the folder in the data folder and all that were ever chosen, connected or not."""
        chosen = sorted(key for key in self._store.all() if Path(key).is_absolute())
        return (self._own, *map(Path, chosen))

    def is_there(self, folder: Path) -> bool:
        return folder == self._own or (folder / INCOMING).is_dir()

    def choose(self, folder: Path | None) -> None:
        """Install new models in a folder; None for the one in the data folder.

        Raises:
            EngineError: NOT_FOUND, when there is no such folder; BAD_REQUEST, when models cannot be installed in it;
                STORAGE, when it cannot be written to, or the choice cannot be stored.
        """
        folder = self._own if folder is None else folder
        if folder != self._own:
            self._check(folder)
            if folder not in self.all():
                self._seen.note(folder, ())
        self._store.put(_CURRENT, str(folder))
        if self.current != folder:
            raise EngineError(ErrorKind.STORAGE, "The choice could not be noted in the data folder. Make it writable.")

    def forget(self, folder: Path) -> None:
        """Stop listing a folder that was once chosen, its files untouched; raises BAD_REQUEST, while it is current."""
        if folder == self.current:
            raise EngineError(
                ErrorKind.BAD_REQUEST, f"New models go to {folder}. Choose another folder for them first."
            )
        self._store.drop(str(folder))

    def models(self) -> tuple[InstalledModel, ...]:
        """Return the models installed in chosen folders; those on a disconnected disk as they were last seen."""
        return tuple(model for folder in self.all()[1:] for model in self._models(folder))

    def _models(self, folder: Path) -> tuple[InstalledModel, ...]:
        there = self.is_there(folder)
        return self._seen.models(folder, _installed(folder) if there else (), there=there)

    def _check(self, folder: Path) -> None:
        if not folder.is_dir():
            raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {folder}; make it, or check the path.")
        if (folder / config_checks.CONFIG_NAME).exists():
            raise EngineError(ErrorKind.BAD_REQUEST, f"{folder} is a model's own folder; choose the one above it.")
        if self._own in folder.parents:
            raise EngineError(
                ErrorKind.BAD_REQUEST, f"{folder} is inside the usual models folder; choose one elsewhere."
            )
        try:
            (folder / INCOMING).mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder / INCOMING) as file:
                file.write(b"\0")
        except OSError as error:
            raise EngineError(
                ErrorKind.STORAGE,
                f"{folder} cannot be written to ({error.strerror}), so no model can be kept there. Choose another "
                "folder.",
                repr(error),
            ) from error


def _installed(folder: Path) -> tuple[InstalledModel, ...]:
    """Return the models in a folder that have a manifest; others there are the user's own."""
    try:
        folders = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
        return tuple(describe_model(path) for path in folders if manifest.read_manifest(path) is not None)
    except OSError:  # the disk went in between
        return ()


class UserFolders:
    """Folders with models that the user added, and the Hugging Face cache, which is searched without being added.

    The app and the command share the list. The models of each folder are remembered, so that they stay listed while its
    disk is not connected.
    """

    def __init__(self, data: Path, cache: Path | None = None) -> None:
        self._store = JsonStore(data / _USER_FOLDERS_FILE, _USER_FOLDERS_FORMAT)
        self._seen = OfflineModels(self._store)
        self._cache = hub_cache.folder() if cache is None else cache

    def added(self) -> tuple[Path, ...]:
        return tuple(Path(key) for key in self._store.all())

    def add(self, folder: Path) -> tuple[InstalledModel, ...]:
        """Add a folder and return the models in it.

        Raises:
            EngineError: NOT_FOUND, when it is no folder or has no model; BAD_REQUEST, when it is the root of a disk;
                STORAGE, when it cannot be stored.
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
            raise EngineError(ErrorKind.STORAGE, "The folder could not be noted in the data folder. Make it writable.")
        return found

    def forget(self, folder: Path) -> None:
        """Take a folder off the list, its files untouched; raises NOT_FOUND, when it was never added."""
        added = self.added()
        known = folder if folder in added else folder.resolve()
        if known not in added:
            raise EngineError(
                ErrorKind.NOT_FOUND, f"{folder} is not among the added folders; `mtplx models` lists them."
            )
        self._store.drop(str(known))

    def models(self) -> tuple[InstalledModel, ...]:
        """Return the models of all folders, each once; those on a disconnected disk as they were last seen."""
        cached = _scan(self._cache) if self._cache.is_dir() else ()
        added = (model for folder in self.added() for model in self._models(folder))
        return tuple({model.path.resolve(): model for model in (*cached, *added)}.values())

    def _models(self, folder: Path) -> tuple[InstalledModel, ...]:
        found = _scan(folder) if folder.is_dir() else ()
        # Where a disk is mounted an empty folder may stay when it is not.
        return self._seen.models(folder, found, there=bool(found))


def _scan(root: Path) -> tuple[InstalledModel, ...]:
    found = (_model(folder, root) for folder in hub_cache.snapshots(root) or _folders(root))
    return tuple(model for model in found if model is not None)


def _model(folder: Path, root: Path) -> InstalledModel | None:
    """Return the model in a folder, None when it holds none or may not be read."""
    try:
        is_model = (folder / config_checks.CONFIG_NAME).exists() and not head_source.is_head_only(folder)
        return describe_model(folder, str(root)) if is_model else None
    except OSError:
        return None


def _folders(root: Path) -> Iterator[Path]:
    """Yield folders with a model, not those inside another model's."""
    waiting = [(root, 0)]
    for _ in range(_MOST):
        if not waiting:
            return
        folder, depth = waiting.pop()
        try:
            if (folder / config_checks.CONFIG_NAME).exists():
                yield folder
            elif depth < _DEEPEST:
                inner = (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
                waiting += [(path, depth + 1) for path in sorted(inner, reverse=True)]
        except OSError:
            continue  # a folder that may not be read
