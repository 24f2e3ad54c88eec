"""What the engine tells of an answer, gathered while the program runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.dashboard.live_figures import LiveFigures, LiveReading
from app.services.engine_link import EngineLink, EngineState
from mtplx_engine.protocol import DepthChosen, Failed, Finished, Heartbeat, PrefillProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.turn import Generation
    from app.session.answer_line import GenerationQueue
    from mtplx_engine.protocol import Event, ModelInfo


class LiveFeed(QObject):
    """Follows the answers, also while nobody looks.

    Args:
        link: Tells what happens.
        line: Its generations count what is written.
        clock: Seconds that only grow.
        parent: Owns it.

    Attributes:
        model: The name of the model that is loaded, "" for none.

    Signals:
        changed: There are other figures than those that were read last; sent once until they are read.
    """

    changed = Signal()

    def __init__(
        self,
        link: EngineLink,
        line: GenerationQueue,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._figures = LiveFigures()
        self._key = ""
        self._told = False  # of figures that nobody has read
        self.model = ""
        line.counted.connect(self._counted)
        link.happened.connect(self._take)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)

    def reading(self) -> LiveReading:
        """Return what is known now."""
        self._told = False
        return self._figures.reading(self._clock())

    def _counted(self, generation: Generation) -> None:
        self._figures.follow(generation.id, generation.meter, self._clock())
        self._tell()

    def _take(self, event: Event) -> None:
        now = self._clock()
        match event:
            case PrefillProgress():
                self._figures.read_prompt(event, now)
            case DepthChosen():
                self._figures.choose_depth(event)
            case Finished():
                self._figures.finish(event, now)
            case Failed():
                self._figures.fail(event, now)
            case Heartbeat():
                self._figures.set_footprint(event.footprint)
            case _:
                return
        self._tell()

    def _loaded(self, model: ModelInfo) -> None:
        if self._key and model.path != self._key:
            self._figures.change_model()
        self._key, self.model = model.path, model.name
        self._tell()

    def _state_changed(self, state: EngineState) -> None:
        if state is not EngineState.READY:
            self.model = ""
            self._figures.set_footprint(None)
        self._tell()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self.changed.emit()
