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


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A folder that holds a model, or the remains of one, or joins a model and its head.

    Attributes:
        name: What `--model` takes: the folder's name, or OWNER/NAME in a Hugging Face cache.
        title: Name for people.
        path: The folder.
        size: Bytes of all its files, also of those that it uses elsewhere.
        has_head: Whether it has an MTP head in or beside its weights.
        complete: Whether nothing is missing.
        place: The folder of the person's that it was found in, where it is used and never changed; empty for
            models in the data folder.
        there: Whether its place is there; a disk may not be connected.
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
        """What it is called at the hub, OWNER/NAME; "" when its name does not say that."""
        owner, _, name = self.name.replace("--", "/", 1).partition("/")
        return f"{owner}/{name}" if owner and name else ""

    @property
    def owner(self) -> str:
        """Whose it is at the hub, "" when its name does not say that."""
        return self.repo.partition("/")[0]


def describe_model(folder: Path, place: str = "") -> InstalledModel:
    """Return what a folder holds; `place` as above."""
    if pair := manifest.read_pair(folder):
        return _pair(folder, *pair, place)
    noted = manifest.read_manifest(folder)
    if noted:
        complete = manifest.is_complete(folder, noted)
    else:
        complete = (folder / config_checks.CONFIG_NAME).is_file() and _has_all_weights(folder)
    name = hub_cache.title(folder)
    return InstalledModel(
        name=name,
        title=noted.name if noted else one_line(name),
        path=folder,
        size=model_size(folder),
        has_head=_has_head(folder),
        complete=complete,
        place=place,
    )


def model_size(folder: Path) -> int:
    """Return the bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _pair(folder: Path, noted: Manifest, binding: HeadBinding, place: str) -> InstalledModel:
    target, head = describe_model(Path(binding.target)), Path(binding.folder)
    return InstalledModel(
        name=folder.name,
        title=noted.name,
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


_MODELS = "models"


class OfflineModels:
    """Models by folder.

    Args:
        kept: Where they are noted; a folder's path is the key.
    """

    def __init__(self, kept: JsonStore) -> None:
        self._kept = kept

    def note(self, folder: Path, models: tuple[InstalledModel, ...]) -> bool:
        """Note what is in a folder; return whether that could be written."""
        self._kept.put(str(folder), {_MODELS: [_as_json(model) for model in models]})
        return self._kept.get(str(folder)) is not None

    def models(
        self, folder: Path, found: tuple[InstalledModel, ...], *, there: bool
    ) -> tuple[InstalledModel, ...]:
        """Return the models of a folder: what was found, or what was seen last while the folder is not there."""
        seen = self._seen(folder)
        if not there:
            return tuple(dataclasses.replace(model, there=False) for model in seen)
        if found != seen:
            self.note(folder, found)
        return found

    def _seen(self, folder: Path) -> tuple[InstalledModel, ...]:
        entry = self._kept.get(str(folder))
        try:
            return tuple(InstalledModel(**{**item, "path": Path(item["path"])}) for item in entry[_MODELS])  # type: ignore[index]
        except (TypeError, KeyError):
            return ()


def _as_json(model: InstalledModel) -> dict[str, Any]:
    return {**dataclasses.asdict(model), "path": str(model.path)}


INCOMING: Final = ".incoming"
"""The folder in which models grow. Where a disk was mounted an empty folder may stay, but without this one in it."""

_NAME, _FORMAT = "homes.json", 1
_CURRENT = "current"  # no path, as the other keys are


class InstallFolders:
    """What is installed stays where it is and is found there, whichever folder is chosen for what comes next.

    Shared by the window and the command.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._own = paths.models_dir(data)
        self._kept = JsonStore(data / _NAME, _FORMAT)
        self._seen = OfflineModels(self._kept)

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
        if (home / config_checks.CONFIG_NAME).exists():
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
        return tuple(describe_model(path) for path in folders if manifest.read_manifest(path) is not None)
    except OSError:  # the disk went in between
        return ()


_USER_FOLDERS_NAME, _USER_FOLDERS_FORMAT = "places.json", 1
_DEEPEST = 2  # folders below a place in which models are looked for, as in OWNER/NAME
_MOST = 1000  # folders of a place that are looked at


class UserFolders:
    """What the person added; shared by the window and the command.

    Of each place it is kept what was in it, so that its models stay in the list while its disk is not connected.

    Args:
        data: The data folder.
        cache: The cache of Hugging Face's programs, which needs not be added.
    """

    def __init__(self, data: Path, cache: Path | None = None) -> None:
        self._kept = JsonStore(data / _USER_FOLDERS_NAME, _USER_FOLDERS_FORMAT)
        self._seen = OfflineModels(self._kept)
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
        is_model = (folder / config_checks.CONFIG_NAME).exists() and not head_source.is_head_only(folder)
        return describe_model(folder, str(place)) if is_model else None
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
            if (folder / config_checks.CONFIG_NAME).exists():
                yield folder
            elif depth < _DEEPEST:
                inner = (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
                waiting += [(path, depth + 1) for path in sorted(inner, reverse=True)]
        except OSError:
            continue  # a folder that may not be read
