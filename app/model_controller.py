"""Which model is loaded: at the start, after one was deleted, and by the button of the model's status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.i18n import tr
from app.services.engine_worker import EngineState
from mtplx_engine import paths
from mtplx_engine.models import hub_cache, starter
from mtplx_engine.models.library import ModelPreferences

if TYPE_CHECKING:
    from pathlib import Path

    from app.chat_view.model_status import ModelPresenter
    from app.services.engine_link import EngineLink
    from app.services.helper_process import StarterSetup
    from app.session.queue import GenerationQueue
    from mtplx_engine.models.manifest import Recipe


class ModelController(QObject):
    """Loads the default model or else the starter, which it sets up where it is missing.

    The waiting generations of `queue` tell what they wait for while no model is loaded.
    """

    def __init__(
        self,
        data_dir: Path,
        recipe: Recipe,
        *,
        presenter: ModelPresenter,
        setup: StarterSetup,
        link: EngineLink,
        queue: GenerationQueue,
    ) -> None:
        super().__init__(link)
        self._data_dir = data_dir
        self._recipe = recipe
        self._presenter = presenter
        self._setup = setup
        self._link = link
        self._queue = queue
        presenter.changed.connect(
            lambda status: queue.set_progress(tr("Waiting for the model") if status.missing else status.title)
        )
        setup.progress.connect(presenter.show_setup)
        setup.finished.connect(self._load_starter)
        setup.failed.connect(presenter.show_setup_failed)

    def load_default(self) -> None:
        default = ModelPreferences(self._data_dir).default()
        if default is not None and default.is_dir():
            self.load(str(default), hub_cache.title(default), anyway=False)
        elif starter.is_installed(paths.models_dir(self._data_dir) / self._recipe.id, self._recipe):
            self._load_starter()
        elif starter.ready_made(self._recipe) is not None:
            self._set_up_starter()  # the app ships it, so there is nothing to ask
        else:
            self._presenter.expect(self._recipe.name)
            self._presenter.show_missing(self._recipe.wheel.size)

    def load(self, folder: str, title: str, anyway: bool) -> None:  # noqa: FBT001 - as the signal has it
        """Load the model in a folder in place of the loaded one, with `anyway` even when it will not fit."""
        self._presenter.expect(title)
        if self._link.state is EngineState.CLOSED:
            self._link.start(folder, self._data_dir, anyway=anyway)
        else:
            self._link.load(folder, anyway=anyway)

    def replace_removed(self, folder: Path) -> None:
        """Load the default model where the deleted folder is the last requested model."""
        if folder == paths.models_dir(self._data_dir) / self._link.model:
            self.load_default()

    def act(self) -> None:
        """Act on the model's status: set up the missing starter, load a too big model anyway, or restart the engine."""
        if self._presenter.status.too_big:
            self._queue.load_anyway()
        elif self._presenter.status.missing:
            self._set_up_starter()
        else:
            self._queue.restart()

    def _set_up_starter(self) -> None:
        self._presenter.show_setup(0.0, tr("Getting the model"))
        self._setup.start()

    def _load_starter(self) -> None:
        self._presenter.expect(self._recipe.name)
        self._link.start(self._recipe.id, self._data_dir)
