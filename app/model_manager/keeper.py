"""The models on this computer: how their rows look, and what is done with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.model_manager import installed_faces
from app.model_manager.face import Action
from app.model_manager.installed_faces import Use
from app.translate import tr
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from pathlib import Path

    from app.model_manager.face import Face
    from app.services.model_inspector import ModelInspector
    from app.services.model_shelf import ModelShelf
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.installed_model import InstalledModel
    from mtplx_engine.models.machine import Machine

_NAMED = 3  # damaged files that are named


class Keeper(QObject):
    """Follows the shelf and the engine.

    Attributes:
        models: What is installed, None before it was listed.

    Signals:
        changed: Rows look different now.
        removal_wanted(InstalledModel): The person is to say whether a model is deleted.
        forgetting_wanted(Path): The person is to say whether models in a folder are listed no more.
        load_requested(str, bool): The model in a folder is to be loaded, also when it will not fit if true.
        unload_requested: The loaded model is to give its memory back.
        failed(str): What was asked about no row cannot be done, a sentence.
    """

    changed = Signal()
    removal_wanted = Signal(object)
    forgetting_wanted = Signal(object)
    load_requested = Signal(str, bool)
    unload_requested = Signal()
    failed = Signal(str)

    def __init__(
        self, shelf: ModelShelf, inspector: ModelInspector, machine: Machine, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.shelf = shelf
        self._inspector = inspector
        self._machine = machine
        self.models: tuple[InstalledModel, ...] | None = None
        self._loaded: Path | None = None
        self._loading: Path | None = None
        self._anyway = False
        self._faults: dict[Path, ErrorInfo] = {}
        self._verified: dict[Path, str] = {}
        self._reading: dict[Path, float] = {}
        self._inspected: dict[Path, Inspection] = {}
        shelf.listed.connect(self._listed)
        shelf.loadable.connect(self._loadable)
        shelf.verifying.connect(self._verifying)
        shelf.verified.connect(self._note_verified)
        shelf.failed.connect(self._failed)
        inspector.inspected.connect(self._note_inspected)

    @property
    def faces(self) -> tuple[Face, ...]:
        """The rows."""
        found = self.shelf.shelf
        use = Use(
            self._loaded,
            self._loading,
            found.default,
            found.used,
            found.places,
            self._verified,
            self._reading,
            self._faults,
            self._inspected,
            self._machine,
        )
        return tuple(installed_faces.face(model, use, time.time()) for model in self.models or ())

    def act(self, folder: str, action: Action) -> None:
        """Do something about the model in a folder."""
        model = self._model(folder)
        if model is None:
            return
        self._faults.pop(model.path, None)
        match action:
            case Action.LOAD | Action.LOAD_ANYWAY:
                self.load(model.path, anyway=action is Action.LOAD_ANYWAY)
            case Action.UNLOAD:
                self.unload_requested.emit()
            case Action.SET_DEFAULT:
                self.shelf.set_default(model.path)
            case Action.VERIFY:
                self._verified.pop(model.path, None)
                self._reading[model.path] = 0.0
                self.shelf.verify(model.path)
            case Action.SHOW:
                QDesktopServices.openUrl(QUrl.fromLocalFile(folder))
            case Action.FORGET:
                self.forgetting_wanted.emit(installed_faces.place(model))
            case Action.DELETE:
                self.removal_wanted.emit(model)
        self.changed.emit()

    def help(self, folder: str) -> None:
        """Do the one thing about a failure: load the model although it is too big."""
        self.act(folder, Action.LOAD_ANYWAY)

    def load(self, folder: Path, *, anyway: bool = False) -> None:
        """Have the model in a folder loaded, as soon as it is known that it can be."""
        self._loading, self._anyway = folder, anyway
        self.shelf.check(folder, anyway=anyway)
        self.changed.emit()

    def models_in(self, place: Path) -> tuple[InstalledModel, ...]:
        """Return the models that are listed because of a folder."""
        return tuple(model for model in self.models or () if installed_faces.place(model) == place)

    def show_loaded(self, folder: Path | None) -> None:
        """Say which model is loaded, None for none."""
        self._loaded = folder
        if folder is not None:
            self._loading = None
        self.changed.emit()

    def show_load_failed(self, error: ErrorInfo) -> None:
        """Say why the model that was asked for here last is not loaded."""
        folder, self._loading = self._loading, None
        if folder is not None:
            self._faults[folder] = error
            self.changed.emit()

    def _model(self, folder: str) -> InstalledModel | None:
        return next((model for model in self.models or () if str(model.path) == folder), None)

    def _listed(self, models: tuple[InstalledModel, ...]) -> None:
        self.models = models
        self._inspector.inspect(tuple(model.path for model in models if model.there and model.complete))
        self.changed.emit()

    def _note_inspected(self, folder: Path, found: Inspection) -> None:
        self._inspected[folder] = found
        self.changed.emit()

    def _loadable(self, folder: Path) -> None:
        if folder == self._loading:
            self.load_requested.emit(str(folder), self._anyway)

    def _verifying(self, folder: Path, fraction: float) -> None:
        self._reading[folder] = fraction
        self.changed.emit()

    def _note_verified(self, folder: Path, differing: tuple[str, ...]) -> None:
        self._reading.pop(folder, None)
        if differing:
            words = tr("damaged, download it again: {files}")
            more = "…" if len(differing) > _NAMED else ""
            self._verified[folder] = words.format(files=", ".join(differing[:_NAMED]) + more)
        else:
            self._verified[folder] = tr("all files are as they were installed")
        self.changed.emit()

    def _failed(self, folder: Path | None, error: ErrorInfo) -> None:
        has_row = folder is not None and self._model(str(folder)) is not None
        if folder is not None:
            self._reading.pop(folder, None)
            self._loading = None if folder == self._loading else self._loading
        # What is not there has no row any more in a moment.
        if folder is not None and has_row and error.kind is not ErrorKind.NOT_FOUND:
            self._faults[folder] = error
        else:
            self.failed.emit(error.message)
        self.changed.emit()
