"""The installed models, live, and the folder that new ones go to."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.i18n import tr
from app.services.engine_worker import EngineState
from app.services.tasks import TaskRunner, describe
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub.errors import CancelledError
from mtplx_engine.models import hub_cache, library, manifest
from mtplx_engine.models.folders import InstallFolders, UserFolders
from mtplx_engine.models.library import ModelPreferences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.services.engine_link import EngineLink
    from mtplx_engine.ipc.protocol import ModelInfo
    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.models.inspection import Inspection


@dataclass(frozen=True, slots=True)
class Contents:
    """The result of listing the models.

    Attributes:
        models: All models, None before they are listed.
        default: Folder of the default one, None for the starter.
        used: When each was last loaded, in seconds since the epoch, by its folder; without those that never were.
        user_folders: The listed folders with models that can be taken off the list.
    """

    models: tuple[InstalledModel, ...] | None = None
    default: Path | None = None
    used: Mapping[Path, int] = field(default_factory=dict)
    user_folders: frozenset[Path] = frozenset()


class ModelLibrary(QObject):
    """Lists, inspects, checks, deletes and chooses models, on other threads.

    A model is identified by its folder, never by a name.

    Args:
        link: The engine, which may be using a model that is to be deleted.

    Signals:
        inspected(Path): A folder is inspected.
        loadable(Path): A model can be loaded, and fits.
        verifying(Path, float): Progress of verifying a model, 0..1.
        verified(Path, tuple[str, ...]): A model, and its files that are not as they were installed.
        removed(Path): A model is deleted.
        failed(Path | None, ErrorInfo): A request about a folder, or about none, has failed.
    """

    changed = Signal()
    inspected = Signal(object)
    loadable = Signal(object)
    verifying = Signal(object, float)
    verified = Signal(object, object)
    removed = Signal(object)
    failed = Signal(object, object)

    _read = Signal(object, float)

    def __init__(self, data_dir: Path, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._link = link
        self.contents = Contents()
        self.inspections: dict[Path, Inspection] = {}
        self._loaded: Path | None = None
        self._to_delete: set[Path] = set()  # once the engine has unloaded them
        self._listings = self._shown = 0  # counts, so that an older listing never replaces a newer one
        self._to_inspect: list[Path] = []
        self._tasks = TaskRunner("models", self)
        self._inspecting = TaskRunner("inspection", self)
        self._closing = threading.Event()
        # Signal to signal, so that receivers of any kind are called on this object's thread.
        self._read.connect(self.verifying)
        link.loaded.connect(self._note_loaded)
        link.state_changed.connect(self._note_state)

    @property
    def models(self) -> tuple[InstalledModel, ...]:
        """All models, none before they are listed."""
        return self.contents.models or ()

    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return the name and the title, each unique, of every model that can be loaded."""
        return library.choices(self.models)

    def refresh(self) -> None:
        """List the models: `changed` follows, or `failed`."""
        self._listings += 1
        self._do(None, self._list, partial(self._show, self._listings))

    def inspect(self) -> None:
        """Inspect all complete models, one after the other: `inspected` follows for each sound one."""
        self._to_inspect = [model.path for model in self.models if model.there and model.complete]
        self._inspect_next()

    def check(self, folder: Path, *, anyway: bool) -> None:
        """Check whether a model can be loaded before another is unloaded for it: `loadable` follows, or `failed`.

        With `anyway` it may be too big.
        """
        self._do(folder, partial(self._check, folder, anyway=anyway), lambda _: self.loadable.emit(folder))

    def verify(self, folder: Path) -> None:
        """Check all files of a model: `verified` follows, or `failed`."""
        self._do(folder, partial(self._verify, folder), partial(self.verified.emit, folder))

    def remove(self, folder: Path) -> None:
        """Unload and delete an installed model: `removed` and `changed` follow, or `failed`."""
        if self.is_in_use(folder):
            self._to_delete.add(folder)
            self._link.unload()
        else:
            self._delete(folder)

    def set_default(self, folder: Path | None) -> None:
        """Choose the model that is loaded at the start, None for the starter: `changed` follows, or `failed`."""

        def choose() -> None:
            if folder is not None:
                self._check(folder, anyway=True)
            ModelPreferences(self._data_dir).set_default(folder)

        self._do(folder, choose, lambda _: self.refresh())

    def add_folder(self, folder: Path) -> None:
        """List the models in a folder of the user's own: `changed` follows, or `failed`."""
        self._do(folder, lambda: UserFolders(self._data_dir).add(folder), lambda _: self.refresh())

    def forget_folder(self, folder: Path) -> None:
        """Take such a folder off the list: `changed` follows, or `failed`."""
        self._do(folder, lambda: library.forget_model(folder, self._data_dir), lambda _: self.refresh())

    def is_in_use(self, folder: Path) -> bool:
        """Whether the engine has loaded a model or is loading it."""
        if self._link.state in (EngineState.STARTING, EngineState.LOADING):
            wanted = self._link.model
            meant = library.called(wanted, self.models)
            return wanted == str(folder) or any(model.path == folder for model in meant)
        return self._link.state is EngineState.READY and folder == self._loaded

    def close(self) -> None:
        """Abandon all tasks, within a second. A second call does nothing."""
        self._closing.set()
        self._to_inspect.clear()
        self._tasks.abandon()
        self._inspecting.abandon()

    # ------------------------------------------------------------ on other threads

    def _list(self) -> Contents:
        preferences, homes = ModelPreferences(self._data_dir), InstallFolders(self._data_dir)
        models = library.installed_models(self._data_dir)
        used = {model.path: when for model in models if (when := preferences.last_used(model.path)) is not None}
        user_folders = {*UserFolders(self._data_dir).added(), *homes.all()} - {homes.own, homes.current}
        return Contents(models, preferences.default(), used, frozenset(user_folders))

    def _check(self, folder: Path, *, anyway: bool) -> None:
        # Late: the start of the program needs none of it.
        from mtplx_engine.models import inspection, memory_fit
        from mtplx_engine.util import system

        if not folder.is_dir():
            sentence = tr("{folder} is not there any more. The list of models is up to date again.")
            raise EngineError(ErrorKind.NOT_FOUND, sentence.format(folder=folder))
        checked, footprint = inspection.check(folder, tokenizer=False)
        if not anyway:
            memory_fit.check_fit(
                checked.name, memory_fit.judge_fit(footprint, memory_fit.CONTEXT, system.this_machine())
            )

    def _verify(self, folder: Path) -> tuple[str, ...]:
        noted = manifest.read_manifest(folder)
        if noted is None or not noted.files:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                tr("{name} was not installed by MTPLX, so nobody knows what its files should be.").format(
                    name=hub_cache.title(folder)
                ),
            )

        def report(fraction: float, _phase: str) -> None:
            if self._closing.is_set():
                raise CancelledError
            self._read.emit(folder, fraction)

        return manifest.differing_files(folder, noted, report)

    def _inspect(self, folder: Path) -> Inspection:
        from mtplx_engine.models import inspection
        from mtplx_engine.models.inspection import ProbeMemory

        return inspection.inspect(folder, ProbeMemory(self._data_dir))

    # ------------------------------------------------------------ inside

    def _inspect_next(self) -> None:
        if self._inspecting.busy or not self._to_inspect:
            return
        folder = self._to_inspect.pop(0)

        def done(found: Inspection) -> None:
            self.inspections[folder] = found
            self.inspected.emit(folder)
            self._inspect_next()

        def failed(error: BaseException) -> None:
            describe(error, f"inspection of {folder.name}")
            self._inspect_next()

        self._inspecting.run(partial(self._inspect, folder), done, failed)

    def _do(self, folder: Path | None, work: Callable[[], object], then: Callable[[Any], object]) -> None:
        self._tasks.run(work, then, partial(self._fail, folder))

    def _fail(self, folder: Path | None, raised: BaseException) -> None:
        error = describe(raised, f"model {folder}")[0]
        self.failed.emit(folder, error)
        if folder is not None and error.kind is ErrorKind.NOT_FOUND:
            self.refresh()  # the list is out of date

    def _show(self, listing: int, contents: Contents) -> None:
        if listing > self._shown:
            self._shown = listing
            self.contents = contents
            self.changed.emit()

    def _note_loaded(self, info: ModelInfo) -> None:
        self._loaded = Path(info.path)

    def _note_state(self, state: EngineState) -> None:
        if state in (EngineState.NO_MODEL, EngineState.GAVE_UP, EngineState.CLOSED):
            self._loaded = None
            to_delete, self._to_delete = self._to_delete, set()
            for folder in sorted(to_delete):
                self._delete(folder)

    def _delete(self, folder: Path) -> None:
        self._do(folder, partial(library.remove_model, folder, self._data_dir), lambda _: self._gone(folder))

    def _gone(self, folder: Path) -> None:
        self.removed.emit(folder)
        self.refresh()


class ModelsFolder(QObject):
    """The models folder that new downloads go to.

    Signals:
        failed(str): A folder cannot be chosen, a sentence.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._homes = InstallFolders(data_dir)
        self._tasks = TaskRunner("models folder", self)

    @property
    def path(self) -> Path:
        return self._homes.current

    @property
    def is_usual(self) -> bool:
        """Whether it is the one in the data folder."""
        return self.path == self._homes.own

    @property
    def is_there(self) -> bool:
        """Whether it is connected."""
        return self._homes.is_there(self.path)

    @property
    def free_bytes(self) -> int | None:
        """Free bytes of its disk, None while that is not connected."""
        home = self.path
        if not self._homes.is_there(home):
            return None
        # The folder itself may not exist yet.
        nearest = next(path for path in (home, *home.parents) if path.is_dir())
        try:
            return shutil.disk_usage(nearest).free
        except OSError:  # it was disconnected meanwhile
            return None

    def choose(self, folder: Path | None) -> None:
        """Choose the folder, None for the one in the data folder: `changed` follows, or `failed`."""
        if not self._tasks.busy:
            self._tasks.run(partial(self._homes.choose, folder), lambda _: self.changed.emit(), self._not_chosen)

    def close(self) -> None:
        """Abandon all tasks. A second call does nothing."""
        self._tasks.abandon()

    def _not_chosen(self, error: BaseException) -> None:
        self.failed.emit(describe(error, "choosing the models folder")[0].message)
