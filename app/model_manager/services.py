"""The services about models, and the Models window, which is made when it is first needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.model_manager.downloads import Downloads
from app.model_manager.first_model import FirstModel
from app.model_manager.hub_client import HubAccess, HubClient
from app.model_manager.model_library import ModelLibrary, ModelsFolder
from app.services.engine_worker import EngineState
from mtplx_engine.hub.errors import IN_THE_FOLDER
from mtplx_engine.ipc.protocol import Failed

if TYPE_CHECKING:
    from app.model_manager.installed import InstalledModels
    from app.model_manager.window import ModelsWindow
    from app.services.engine_link import EngineLink
    from app.storage.settings import SettingsFile
    from app.theme import Theme
    from mtplx_engine.ipc.protocol import Event, ModelInfo


class ModelServices(QObject):
    """Holds the services for models, which work without the window too, and connects them with the engine.

    Signals:
        load_requested(str, str, bool): The folder and title of a model, and whether to load it even if it will not fit.
        removed(Path): A model is deleted.
        first_loaded(ModelInfo): The first model that was offered is loaded.
    """

    load_requested = Signal(str, str, bool)
    removed = Signal(object)
    network_wanted = Signal()
    first_loaded = Signal(object)
    folder_wanted = Signal()

    def __init__(
        self,
        theme: Theme,
        data_dir: Path,
        link: EngineLink,
        settings: SettingsFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._link = link
        self.access = HubAccess(data_dir)
        self.folder = ModelsFolder(data_dir, self)
        self._hub = HubClient(self.access, self)
        self.library = ModelLibrary(data_dir, link, self)
        self.library.removed.connect(self.removed)
        self.downloads = Downloads(data_dir, self.access.connection, self)
        self.first = FirstModel(self.library, self.downloads, settings, self)
        self.first.accepted.connect(self._fetch_first)
        self._loaded: Path | None = None
        self._first = ""  # the folder of the offered first model, while it is being loaded
        self._window: ModelsWindow | None = None
        link.loaded.connect(self._note_loaded)
        link.state_changed.connect(self._note_state)
        link.happened.connect(self._note_failed)
        self.folder.changed.connect(self._use_folder)

    def start(self) -> None:
        """List the models, and go on with the downloads of the last run."""
        self.downloads.open()
        self.library.refresh()

    def window(self) -> ModelsWindow:
        """Return the only window; its `open_tab` shows it."""
        if self._window is None:
            self._window = self._make_window()
        return self._window

    def ask_anew(self) -> None:
        """Drop what the former hub has said, since another one is set; downloads go on."""
        if self._window is not None:
            self._window.ask_anew()

    def close(self) -> None:
        """Close the window and end all tasks; downloads go on at the next start."""
        if self._window is not None:
            self._window.close()
            self._window.deleteLater()
            self._window = None
        self._hub.close()
        self.library.close()
        self.folder.close()
        self.downloads.close()

    def _make_window(self) -> ModelsWindow:
        # Late: the start of the program needs none of it.
        from app.model_manager.controller import ModelsWindowController
        from app.model_manager.window import ModelsWindow
        from mtplx_engine.util import system

        controller = ModelsWindowController(
            self._hub,
            self.downloads,
            self.library,
            system.this_machine(),
            endpoint=lambda: self.access.settings.endpoint,
            parent=self,
        )
        controller.network_wanted.connect(self.network_wanted)
        controller.folder_wanted.connect(self.folder_wanted)
        controller.loading_first.connect(self._note_first)
        controller.refused.connect(self._first_refused)
        controller.installed.load_requested.connect(self._load)
        controller.installed.unload_requested.connect(self._link.unload)
        window = ModelsWindow(self._theme, controller, lambda: self.folder.free_bytes, lambda: self.access.lasts)
        controller.installed.show_loaded(self._loaded)
        return window

    def _fetch_first(self, repo_id: str) -> None:
        self.window().controller.fetch_and_load(repo_id)

    def _first_refused(self, repo_id: str) -> None:
        if self.first.refuse(repo_id):
            window = self.window()
            window.open_tab(window.recommended)

    def _installed(self) -> InstalledModels | None:
        return self._window.controller.installed if self._window is not None else None

    def _load(self, folder: str, anyway: bool) -> None:  # noqa: FBT001 - as the signal has it
        titles = {str(model.path): model.title for model in self.library.models}
        self.load_requested.emit(folder, titles.get(folder, Path(folder).name), anyway)

    def _note_first(self, folder: str) -> None:
        self._first = folder

    def _note_loaded(self, info: ModelInfo) -> None:
        self._show_loaded(Path(info.path))
        if info.path == self._first:
            self._first = ""
            self.first_loaded.emit(info)

    def _note_state(self, state: EngineState) -> None:
        if state is not EngineState.READY:
            self._show_loaded(None)

    def _show_loaded(self, folder: Path | None) -> None:
        self._loaded = folder
        if installed := self._installed():
            installed.show_loaded(folder)

    def _note_failed(self, event: Event) -> None:
        installed = self._installed()
        if isinstance(event, Failed) and event.generation is None and installed is not None:
            installed.show_load_failed(event.error)

    def _use_folder(self) -> None:
        """Resume the downloads that failed for their folder; those that have not begun use the new one."""
        for row in self.downloads.rows():
            if row.problem in IN_THE_FOLDER:
                self.downloads.resume(row.id)
        self.library.refresh()
