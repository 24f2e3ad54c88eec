"""The models that there are, as the window sees them: calls that never wait, and signals on the main thread."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.services.engine_link import EngineLink, EngineState
from app.services.failure import describe
from app.translate import tr
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub.problem import CancelledError
from mtplx_engine.models import installed, manifest
from mtplx_engine.models.habits import Habits
from mtplx_engine.models.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.models.installed_model import InstalledModel
    from mtplx_engine.protocol import ModelInfo

_END_S = 0.3


@dataclass(frozen=True, slots=True)
class Shelf:
    """What there is.

    Attributes:
        models: All models.
        default: Folder of the default one, None for the starter.
        used: When each was loaded last, in seconds since 1970, by its folder; those that never were are missing.
    """

    models: tuple[InstalledModel, ...] = ()
    default: Path | None = None
    used: dict[Path, int] = field(default_factory=dict)


class ModelShelf(QObject):
    """Lists, checks, deletes and chooses models, on other threads.

    Args:
        data_dir: The data folder.
        link: The engine, which may have a model in use that is to be deleted.

    Attributes:
        shelf: What was found last.

    Signals:
        listed(tuple[InstalledModel, ...]): The models, whenever they have been looked for; `shelf` says more.
        verifying(str, float): A model is being read, and how much of it was, 0..1.
        verified(str, tuple[str, ...]): A model, and its files that are not as they were installed.
        removed(str): A model is deleted.
        failed(str, ErrorInfo): What was asked about a model (or about all, "") cannot be done.
    """

    listed = Signal(object)
    verifying = Signal(str, float)
    verified = Signal(str, object)
    removed = Signal(str)
    failed = Signal(str, object)

    _read = Signal(str, float)

    def __init__(self, data_dir: Path, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._link = link
        self.shelf = Shelf()
        self._loaded: Path | None = None
        self._leaving: set[str] = set()  # to be deleted, once the engine has let go of them
        self._tasks: set[Background] = set()
        self._closing = threading.Event()
        # Signal to signal, so that receivers of any kind are called on this object's thread.
        self._read.connect(self.verifying)
        link.loaded.connect(self._note_loaded)
        link.state_changed.connect(self._note_state)

    def refresh(self) -> None:
        """Look what there is: `listed` follows, or `failed`."""
        self._do("", self._look, self._show)

    def verify(self, name: str) -> None:
        """Read all of a model: `verified` follows, or `failed`."""
        self._do(name, partial(self._verify, name), partial(self.verified.emit, name))

    def remove(self, name: str) -> None:
        """Delete a model of the data folder, unloaded first: `removed` and `listed` follow, or `failed`."""
        if self._is_in_use(name):
            self._leaving.add(name)
            self._link.unload()
        else:
            self._delete(name)

    def set_default(self, name: str) -> None:
        """Choose the model that is loaded at a start, "" for the starter: `listed` follows, or `failed`."""

        def choose() -> None:
            folder = installed.resolve(name, self._data_dir) if name else None
            Habits(self._data_dir).set_default(folder)

        self._do(name, choose, lambda _: self.refresh())

    def add_place(self, folder: Path) -> None:
        """Use the models in a folder where they are: `listed` follows, or `failed`."""
        self._do(str(folder), lambda: Places(self._data_dir).add(folder), lambda _: self.refresh())

    def forget_place(self, folder: Path) -> None:
        """Look there no more: `listed` follows, or `failed`."""
        self._do(str(folder), lambda: Places(self._data_dir).forget(folder), lambda _: self.refresh())

    def close(self) -> None:
        """Hear of nothing any more, within a second. A second call does nothing."""
        self._closing.set()
        end = time.monotonic() + _END_S
        for task in self._tasks:
            task.abandon(max(end - time.monotonic(), 0.0))
        self._tasks.clear()

    # ------------------------------------------------------------ on other threads

    def _look(self) -> Shelf:
        habits = Habits(self._data_dir)
        models = installed.models(self._data_dir)
        used = {model.path: when for model in models if (when := habits.last_used(model.path)) is not None}
        return Shelf(models, habits.default(), used)

    def _verify(self, name: str) -> tuple[str, ...]:
        folder = installed.resolve(name, self._data_dir)
        noted = manifest.read(folder)
        if noted is None or not noted.files:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                tr("{name} was not installed by MTPLX, so nobody knows what its files should be.").format(
                    name=name
                ),
            )

        def report(fraction: float, _phase: str) -> None:
            if self._closing.is_set():
                raise CancelledError
            self._read.emit(name, fraction)

        return manifest.differing(folder, noted, report)

    # ------------------------------------------------------------ inside

    def _do(self, name: str, work: Callable[[], object], then: Callable[[Any], object]) -> None:
        task = Background("models", work, self)
        self._tasks.add(task)
        task.ended.connect(partial(self._done, name, task, then))
        task.start()

    def _done(self, name: str, task: Background, then: Callable[[Any], object], outcome: object) -> None:
        self._tasks.discard(task)
        if isinstance(outcome, BaseException):
            self.failed.emit(name, describe(outcome, f"model {name}")[0])
        else:
            then(outcome)

    def _show(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.listed.emit(shelf.models)

    def _is_in_use(self, name: str) -> bool:
        """Whether the engine has a model, or is about to load it."""
        if self._link.state in (EngineState.STARTING, EngineState.LOADING):
            wanted = self._link.model
            return any(model.is_called(wanted) or str(model.path) == wanted for model in self._called(name))
        is_in = self._link.state is EngineState.READY
        return is_in and any(model.path == self._loaded for model in self._called(name))

    def _called(self, name: str) -> tuple[InstalledModel, ...]:
        return tuple(model for model in self.shelf.models if model.is_called(name))

    def _note_loaded(self, info: ModelInfo) -> None:
        self._loaded = Path(info.path)

    def _note_state(self, state: EngineState) -> None:
        if state in (EngineState.NO_MODEL, EngineState.GAVE_UP, EngineState.CLOSED):
            self._loaded = None
            leaving, self._leaving = self._leaving, set()
            for name in sorted(leaving):
                self._delete(name)

    def _delete(self, name: str) -> None:
        self._do(name, partial(installed.remove, name, self._data_dir), partial(self._gone, name))

    def _gone(self, name: str, _freed: int) -> None:
        self.removed.emit(name)
        self.refresh()
