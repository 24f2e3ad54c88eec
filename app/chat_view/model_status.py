"""What the chat shows of the model: its name, whether it is loading, and the one thing to do about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.i18n import marked, tr
from app.services.engine_worker import EngineState
from mtplx_engine.errors import ErrorKind
from mtplx_engine.ipc.protocol import Failed, LoadProgress
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from app.services.engine_link import EngineLink
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import Event, ModelInfo


_ASK_AT_ONCE = marked("Ask at once: the answer comes as soon as the model is in.")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What is shown of the model.

    Attributes:
        name: Of the model, for people.
        title: For the header: the name, or what is going on.
        sentence: For an empty chat.
        fraction: How much is loaded, 0..1; None when nothing is being loaded.
        action: The one thing to do, "" when there is nothing to do.
        missing: Whether there is no model that could be loaded, so that every question would wait for ever.
        too_big: Whether the one thing to do is to load a model that will not fit into memory.
    """

    name: str
    title: str
    sentence: str
    fraction: float | None = None
    action: str = ""
    missing: bool = False
    too_big: bool = False


class ModelPresenter(QObject):
    """Follows the engine, and the set-up before there is a model to load.

    Signals:
        changed(ModelStatus): There is something else to show.
    """

    changed = Signal(object)

    def __init__(self, name: str, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self.status = ModelStatus(name, tr("Starting the engine…"), tr(_ASK_AT_ONCE), 0.0)
        link.state_changed.connect(self._state_changed)
        link.loaded.connect(self._loaded)
        link.lost.connect(self._lost)
        link.happened.connect(self._take)
        self._model: ModelInfo | None = None
        self._why: ErrorInfo | None = None

    def expect(self, name: str) -> None:
        """Speak of another model from now on, which is about to be loaded."""
        self._model = None
        self._why = None
        self.status = dataclasses.replace(self.status, name=name)

    def show_missing(self, size_mb: int) -> None:
        """Say that the starter model has not been fetched."""
        words = tr("{name} is not on this computer yet: a download of {size} MB, once.")
        sentence = words.format(name=self.status.name, size=size_mb)
        self._show(tr("No model"), sentence, action=tr("Get the model"), missing=True)

    def show_setup(self, fraction: float, phase: str) -> None:
        """Say how far the set-up of the model is."""
        what = phase.partition(",")[0]  # details follow the comma
        self._show(f"{what}… {percent(fraction)}", tr(_ASK_AT_ONCE), fraction)

    def show_setup_failed(self, sentence: str) -> None:
        """Say why the set-up failed."""
        self._show(tr("No model"), sentence, action=tr("Try again"), missing=True)

    def _state_changed(self, state: EngineState) -> None:
        if state is EngineState.STARTING:
            self._show(tr("Starting the engine…"), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.LOADING:
            self._show(tr("Loading {name}…").format(name=self.status.name), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.READY and self._model is not None:
            self._show(self._model.name, _praise(self._model))
        elif state is EngineState.NO_MODEL:
            self._show_unloaded(self._why)
        elif state is EngineState.GAVE_UP:
            self._show(tr("Engine stopped"), self._why.message if self._why else "", action=tr("Restart"))

    def _show_unloaded(self, why: ErrorInfo | None) -> None:
        if why is None:
            sentence = tr("The model is not loaded, and its memory is free.")
            self._show(tr("No model"), sentence, action=tr("Load"))
        elif why.kind is ErrorKind.TOO_BIG:
            self._show(tr("No model"), why.message, action=tr("Load anyway"), too_big=True)
        else:
            self._show(tr("No model"), why.message, action=tr("Restart"))

    def _take(self, event: Event) -> None:
        match event:
            case LoadProgress(fraction=fraction) if self._link.state is EngineState.LOADING:
                title = tr("Loading {name}… {share}").format(name=self.status.name, share=percent(fraction))
                self._show(title, tr(_ASK_AT_ONCE), fraction)
            case Failed(error, None):
                self._why = error

    def _loaded(self, model: ModelInfo) -> None:
        self._model = model
        self._why = None

    def _lost(self, error: ErrorInfo) -> None:
        self._why = error

    def _show(
        self,
        title: str,
        sentence: str,
        fraction: float | None = None,
        action: str = "",
        *,
        missing: bool = False,
        too_big: bool = False,
    ) -> None:
        name = self._model.name if self._model is not None else self.status.name
        self.status = ModelStatus(name, title, sentence, fraction, action, missing, too_big)
        self.changed.emit(self.status)


def _praise(model: ModelInfo) -> str:
    private = tr("Nothing you write leaves this computer.")
    return f"{model.drafter_note or tr('Drafts for itself (MTP).')} {private}"
