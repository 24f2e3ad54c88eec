"""The installed models and the downloads: their rows, and the actions on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.i18n import tr
from app.model_manager import rows
from app.model_manager.downloads import DownloadState
from app.model_manager.row_state import Action
from app.model_manager.rows import UseState
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from app.model_manager.downloads import DownloadRow, Downloads
    from app.model_manager.model_library import ModelLibrary
    from app.model_manager.row_state import ModelRow
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.errors import HubErrorKind
    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.util.system import Machine


_NAMED = 3  # how many damaged files are named


class InstalledModels(QObject):
    """Follows the library, the downloads, and the engine's loading of models.

    Signals:
        removal_wanted(InstalledModel): The user is to confirm that a model is deleted.
        forgetting_wanted(Path): The user is to confirm that a folder's models are no longer listed.
        load_requested(str, bool): The model in a folder is to be loaded; if true, even if it will not fit.
        unload_requested: The loaded model is to be unloaded.
        failed(str): An action that concerns no row has failed, a sentence.
    """

    changed = Signal()
    removal_wanted = Signal(object)
    forgetting_wanted = Signal(object)
    load_requested = Signal(str, bool)
    unload_requested = Signal()
    failed = Signal(str)

    def __init__(
        self, library: ModelLibrary, downloads: Downloads, machine: Machine, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._downloads = downloads
        self._machine = machine
        self._loaded: Path | None = None
        self._loading: Path | None = None
        self._anyway = False
        self._faults: dict[Path, ErrorInfo] = {}
        self._verified: dict[Path, str] = {}
        self._verify_progress: dict[Path, float] = {}
        library.changed.connect(self._listed)
        library.inspected.connect(self.changed)
        library.loadable.connect(self._loadable)
        library.verifying.connect(self._verifying)
        library.verified.connect(self._note_verified)
        library.failed.connect(self._failed)
        downloads.changed.connect(self.changed)
        downloads.removed.connect(self.changed)

    # ------------------------------------------------------------ installed models

    @property
    def models(self) -> tuple[InstalledModel, ...] | None:
        """The installed models, None before they are listed."""
        return self._library.contents.models

    @property
    def rows(self) -> tuple[ModelRow, ...]:
        use = UseState(
            self._library.contents,
            self._loaded,
            self._loading,
            self._verified,
            self._verify_progress,
            self._faults,
            self._library.inspections,
            self._machine,
        )
        return tuple(rows.installed(model, use, time.time()) for model in self._library.models)

    def act(self, folder: str, action: Action) -> None:
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
                self._library.set_default(model.path)
            case Action.VERIFY:
                self._verified.pop(model.path, None)
                self._verify_progress[model.path] = 0.0
                self._library.verify(model.path)
            case Action.SHOW:
                QDesktopServices.openUrl(QUrl.fromLocalFile(folder))
            case Action.FORGET:
                self.forgetting_wanted.emit(rows.listed_folder(model))
            case Action.DELETE:
                self.removal_wanted.emit(model)
        self.changed.emit()

    def help(self, folder: str) -> None:
        """Carry out the only remedy for a failure: load the model although it is too big."""
        self.act(folder, Action.LOAD_ANYWAY)

    def load(self, folder: Path, *, anyway: bool = False) -> None:
        """Have the model in a folder loaded once a check says that it can be."""
        self._loading, self._anyway = folder, anyway
        self._library.check(folder, anyway=anyway)
        self.changed.emit()

    def models_in(self, folder: Path) -> tuple[InstalledModel, ...]:
        """Return the models that are listed for a folder."""
        return tuple(model for model in self._library.models if rows.listed_folder(model) == folder)

    def show_loaded(self, folder: Path | None) -> None:
        self._loaded = folder
        if folder is not None:
            self._loading = None
        self.changed.emit()

    def show_load_failed(self, error: ErrorInfo) -> None:
        """Show why the model that was last requested here is not loaded."""
        folder, self._loading = self._loading, None
        if folder is not None:
            self._faults[folder] = error
            self.changed.emit()

    def _model(self, folder: str) -> InstalledModel | None:
        return next((model for model in self._library.models if str(model.path) == folder), None)

    def _listed(self) -> None:
        self._library.inspect()
        self.changed.emit()

    def _loadable(self, folder: Path) -> None:
        if folder == self._loading:
            self.load_requested.emit(str(folder), self._anyway)

    def _verifying(self, folder: Path, fraction: float) -> None:
        self._verify_progress[folder] = fraction
        self.changed.emit()

    def _note_verified(self, folder: Path, differing: tuple[str, ...]) -> None:
        self._verify_progress.pop(folder, None)
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
            self._verify_progress.pop(folder, None)
            self._loading = None if folder == self._loading else self._loading
        # A model that is gone is about to lose its row.
        if folder is not None and has_row and error.kind is not ErrorKind.NOT_FOUND:
            self._faults[folder] = error
        else:
            self.failed.emit(error.message)
        self.changed.emit()

    # ------------------------------------------------------------ downloads

    @property
    def download_rows(self) -> tuple[ModelRow, ...]:
        """The rows of downloads, in the order of the queue."""
        return rows.downloads(self._downloads.rows())

    @property
    def halted(self) -> tuple[DownloadRow, ...]:
        """The downloads that are paused or failed."""
        states = (DownloadState.PAUSED, DownloadState.FAILED)
        return tuple(row for row in self._downloads.rows() if row.state in states)

    @property
    def done(self) -> tuple[DownloadRow, ...]:
        """The downloads that are installed."""
        return tuple(row for row in self._downloads.rows() if row.state is DownloadState.DONE)

    def act_on_download(self, download: str, action: Action) -> None:
        match action:
            case Action.PAUSE:
                self._downloads.pause(download)
            case Action.RESUME | Action.TRY_NOW:
                self._downloads.resume(download)
            case Action.CANCEL | Action.CLEAR:
                self._downloads.cancel(download)

    def resume_all(self) -> None:
        for row in self.halted:
            self._downloads.resume(row.id)

    def clear_all(self) -> None:
        for row in self.done:
            self._downloads.cancel(row.id)

    def retry(self, problems: Collection[HubErrorKind]) -> None:
        """Resume the downloads that failed for one of these."""
        for row in self._downloads.rows():
            if row.problem in problems:
                self._downloads.resume(row.id)
