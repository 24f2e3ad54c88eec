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
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from app.services.engine_link import EngineLink
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import Event, ModelInfo


_ASK_AT_ONCE = marked("Ask at once: the answer comes as soon as the model is in.")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What the chat shows of the model.

    Attributes:
        title: Text of the header: the name, or what is going on.
        sentence: Sentence in an empty chat.
        fraction: Progress of loading, 0..1; None when nothing is being loaded.
        action: Text of the button for the one thing to do, "" for none.
        missing: Whether there is no model that could be loaded, so that every question would wait for ever.
        too_big: Whether `action` loads a model that does not fit into memory.
    """

    name: str
    title: str
    sentence: str
    fraction: float | None = None
    action: str = ""
    missing: bool = False
    too_big: bool = False


class ModelPresenter(QObject):
    """Keeps a ModelStatus from the events of engine and set-up of the starter model; `changed` carries it."""

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
        self._error: ErrorInfo | None = None

    def expect(self, name: str) -> None:
        """Switch to another model, which is about to be loaded."""
        self._model = None
        self._error = None
        self.status = dataclasses.replace(self.status, name=name)

    def show_missing(self, size: int) -> None:
        """Show that the starter model, a download of `size` bytes, is not here."""
        template = tr("{name} is not on this computer yet: a download of {size}, once.")
        sentence = template.format(name=self.status.name, size=formatting.size(size))
        self._show(tr("No model"), sentence, action=tr("Get the model"), missing=True)

    def show_setup(self, fraction: float, phase: str) -> None:
        step = phase.partition(",")[0]  # details follow the comma
        self._show(f"{step}… {percent(fraction)}", tr(_ASK_AT_ONCE), fraction)

    def show_setup_failed(self, sentence: str) -> None:
        self._show(tr("No model"), sentence, action=tr("Try again"), missing=True)

    def _state_changed(self, state: EngineState) -> None:
        if state is EngineState.STARTING:
            self._show(tr("Starting the engine…"), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.LOADING:
            self._show(tr("Loading {name}…").format(name=self.status.name), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.READY and self._model is not None:
            self._show(self._model.name, _ready_text(self._model))
        elif state is EngineState.NO_MODEL:
            self._show_unloaded(self._error)
        elif state is EngineState.GAVE_UP:
            self._show(tr("Engine stopped"), self._error.message if self._error else "", action=tr("Restart"))

    def _show_unloaded(self, error: ErrorInfo | None) -> None:
        if error is None:
            sentence = tr("The model is not loaded, and its memory is free.")
            self._show(tr("No model"), sentence, action=tr("Load"))
        elif error.kind is ErrorKind.TOO_BIG:
            self._show(tr("No model"), error.message, action=tr("Load anyway"), too_big=True)
        else:
            self._show(tr("No model"), error.message, action=tr("Restart"))

    def _take(self, event: Event) -> None:
        match event:
            case LoadProgress(fraction=fraction) if self._link.state is EngineState.LOADING:
                title = tr("Loading {name}… {share}").format(name=self.status.name, share=percent(fraction))
                self._show(title, tr(_ASK_AT_ONCE), fraction)
            case Failed(error, None):
                self._error = error

    def _loaded(self, model: ModelInfo) -> None:
        self._model = model
        self._error = None

    def _lost(self, error: ErrorInfo) -> None:
        self._error = error

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


def _ready_text(model: ModelInfo) -> str:
    private = tr("Nothing you write leaves this computer.")
    return f"{model.drafter_note or tr('Drafts for itself (MTP).')} {private}"
