"""Measurements and checks of exactness on their way: one at a time, and never beside an answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.engine_link import EngineLink, EngineState
from app.translate import tr
from mtplx_engine import words
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.protocol import Failed
from mtplx_engine.trials import Abandoned, Checked, Measured, TrialProgress

if TYPE_CHECKING:
    from app.session.answer_line import GenerationQueue
    from mtplx_engine.protocol import Event
    from mtplx_engine.trials import CheckExactness, Measure


class Stage(Enum):
    """How far a trial is."""

    WAITING = auto()  # for an answer that is being written
    LOADING = auto()  # the model that it is about
    RUNNING = auto()
    STOPPING = auto()  # cancelled, and the engine has not said so yet


@dataclass(frozen=True, slots=True)
class Trial:
    """A measurement or a check.

    Attributes:
        request: What the engine is asked for.
        folder: Of the model that it is about.
        title: That model's name for people.
        stage: How far it is.
        fraction: 0..1 of its time, about.
        what: What is being done, for people.
        left_s: Seconds it will take, about; None when that is not known yet.
    """

    request: Measure | CheckExactness
    folder: str
    title: str
    stage: Stage = Stage.WAITING
    fraction: float = 0.0
    what: str = ""
    left_s: float | None = None


_Ending = Measured | Checked | Abandoned | Failed


class Trials(QObject):
    """Gives the engine one trial at a time, when nothing is being answered; answers wait meanwhile.

    Attributes:
        going: The trial that has not ended.
        problem: Why the last one failed; None when it did not, and once there is another.
        cancelled: Whether the last one was cancelled.

    Signals:
        changed: There is something else to show.
        progressed: The trial that runs got further, which may be said a hundred times a second.
        measured(Measurement): A measurement ended.
        checked(ExactnessReport): A check ended.
        load_requested(str, str, bool): The model in a folder, its title, and whether it is to be loaded also when it
            will not fit.
    """

    changed = Signal()
    progressed = Signal()
    measured = Signal(object)
    checked = Signal(object)
    load_requested = Signal(str, str, bool)

    def __init__(self, line: GenerationQueue, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._line = line
        self._link = link
        self.going: Trial | None = None
        self.problem: ErrorInfo | None = None
        self.cancelled = False
        self._down: ErrorInfo | None = None  # why no model is in
        line.ended.connect(self._advance)
        link.state_changed.connect(self._state_changed)
        link.lost.connect(self._lost)
        link.happened.connect(self._take)

    @property
    def _loaded(self) -> str:
        """The folder of the model that is in; "" when none is."""
        model = self._line.model
        return model.path if model is not None and self._link.state is EngineState.READY else ""

    def start(self, request: Measure | CheckExactness, folder: str, title: str) -> None:
        """Begin a trial with the model in a folder, which is loaded first when it is not in; one must not be going."""
        self.problem, self.cancelled, self._down = None, False, None
        self.going = Trial(request, folder, title)
        self._advance()
        self.changed.emit()

    def cancel(self) -> None:
        """End the trial; before it runs, it is over when this returns."""
        if self.going is None or self.going.stage is Stage.STOPPING:
            return
        if self.going.stage is Stage.RUNNING:
            self._link.cancel(self.going.request.generation)
            self._put(stage=Stage.STOPPING)
        else:
            self._end(cancelled=True)

    # ------------------------------------------------------------ on its way

    def _advance(self) -> None:
        trial = self.going
        if trial is None or trial.stage is not Stage.WAITING or self._line.pending:
            return
        if self._loaded == trial.folder:
            self._run(trial)
        else:
            self._put(stage=Stage.LOADING)
            self.load_requested.emit(trial.folder, trial.title, False)

    def _run(self, trial: Trial) -> None:
        self._put(stage=Stage.RUNNING)
        self._link.submit(trial.request)

    def _put(self, **fields: object) -> None:
        if self.going is not None:
            stage = self.going.stage
            self.going = dataclasses.replace(self.going, **fields)  # type: ignore[arg-type]
            self._line.hold(_hold_words(self.going))
            (self.progressed if self.going.stage is stage else self.changed).emit()

    def _end(self, problem: ErrorInfo | None = None, *, cancelled: bool = False) -> None:
        self.going = None
        self.problem, self.cancelled = problem, cancelled
        self._line.release()
        self.changed.emit()

    # ------------------------------------------------------------ what the engine tells

    def _state_changed(self, state: EngineState) -> None:
        if self.going is None or self.going.stage is not Stage.LOADING:
            return
        if state is EngineState.READY and self._loaded == self.going.folder:
            self._run(self.going)
        elif state is EngineState.READY:
            self._end(_not_loaded(tr("Another model was loaded, so nothing was measured.")))
        elif state in (EngineState.NO_MODEL, EngineState.GAVE_UP):
            self._end(self._down or _not_loaded(tr("The model was not loaded, so nothing was measured.")))

    def _lost(self, error: ErrorInfo) -> None:
        self._down = error

    def _take(self, event: Event) -> None:
        if isinstance(event, Failed) and event.generation is None:
            self._down = event.error
        elif isinstance(event, TrialProgress | _Ending) and self._is(event.generation):
            self._follow(event)

    def _follow(self, event: TrialProgress | _Ending) -> None:
        stage = self.going.stage if self.going else Stage.WAITING
        match event:
            case TrialProgress() if stage is Stage.RUNNING:
                self._put(fraction=event.fraction, what=event.what, left_s=event.left_s)
            case Measured():
                self._end()
                self.measured.emit(event.measurement)
            case Checked():
                self._end()
                self.checked.emit(event.report)
            case Failed() if stage is not Stage.STOPPING:
                self._end(event.error)
            case Failed() | Abandoned():
                self._end(cancelled=True)

    def _is(self, generation: int | None) -> bool:
        return self.going is not None and self.going.request.generation == generation


def _hold_words(trial: Trial) -> str:
    """Return what a question waits for while a trial has the engine."""
    if trial.left_s is None:
        return tr("Waiting for the measurement in the Speed window…")
    left = words.duration(trial.left_s)
    return tr("Waiting for the measurement in the Speed window: about {left}…").format(left=left)


def _not_loaded(sentence: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.NO_MODEL, sentence)
