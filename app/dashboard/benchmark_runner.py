"""Run one measurement or exactness check at a time on the engine, while chats wait."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.i18n import tr
from app.services.engine_worker import EngineState
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Checked,
    CheckExactness,
    Failed,
    Measure,
    Measured,
    TrialProgress,
)
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from mtplx_engine.ipc.protocol import Event


class Stage(Enum):
    """How far a trial is."""

    WAITING = auto()  # for an answer that is being generated
    LOADING = auto()  # its model
    RUNNING = auto()
    STOPPING = auto()  # cancelled, not yet confirmed by the engine


@dataclass(frozen=True, slots=True)
class Trial:
    """A measurement or an exactness check, pending or running.

    Attributes:
        fraction: 0..1 of its time, about.
        step: What the engine is doing, as part of a sentence.
        left_s: Seconds left, about; None when that is not known yet.
    """

    request: Measure | CheckExactness
    folder: str
    title: str
    stage: Stage = Stage.WAITING
    fraction: float = 0.0
    step: str = ""
    left_s: float | None = None


_Ending = Measured | Checked | Abandoned | Failed


class BenchmarkRunner(QObject):
    """Runs one trial at a time when no answer is being generated, and holds the generation queue meanwhile.

    Attributes:
        trial: The trial that has not ended, None without one.
        problem: Why the last one failed; None when it did not, and once another starts.
        cancelled: Whether the last one was cancelled.

    Signals:
        changed: A trial started, ended or reached another stage.
        progressed: The running trial got further; up to a hundred times a second.
        measured(Measurement): A measurement ended.
        checked(ExactnessReport): A check ended.
        load_requested(str, str, bool): Folder and title of a model to load, and whether to load it even if it does
            not fit into memory.
    """

    changed = Signal()
    progressed = Signal()
    measured = Signal(object)
    checked = Signal(object)
    load_requested = Signal(str, str, bool)

    def __init__(self, queue: GenerationQueue, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = queue
        self._link = link
        self.trial: Trial | None = None
        self.problem: ErrorInfo | None = None
        self.cancelled = False
        self._load_error: ErrorInfo | None = None  # why no model is loaded
        queue.ended.connect(self._advance)
        link.state_changed.connect(self._state_changed)
        link.lost.connect(self._lost)
        link.happened.connect(self._receive)

    def start(self, request: Measure | CheckExactness, folder: str, title: str) -> None:
        """Start a trial with the model in a folder, loading that first if need be; none may be running."""
        self.problem, self.cancelled, self._load_error = None, False, None
        self.trial = Trial(request, folder, title)
        self._advance()
        self.changed.emit()

    def cancel(self) -> None:
        """Cancel the trial; one that does not run yet is over when this returns."""
        if self.trial is None or self.trial.stage is Stage.STOPPING:
            return
        if self.trial.stage is Stage.RUNNING:
            self._link.cancel(self.trial.request.generation)
            self._update(stage=Stage.STOPPING)
        else:
            self._end(cancelled=True)

    def _advance(self) -> None:
        trial = self.trial
        if trial is None or trial.stage is not Stage.WAITING or self._queue.pending:
            return
        if self._is_loaded(trial.folder):
            self._run(trial)
        else:
            self._update(stage=Stage.LOADING)
            self.load_requested.emit(trial.folder, trial.title, False)

    def _run(self, trial: Trial) -> None:
        self._update(stage=Stage.RUNNING)
        self._link.submit(trial.request)

    def _update(self, **fields: object) -> None:
        if self.trial is not None:
            stage = self.trial.stage
            self.trial = dataclasses.replace(self.trial, **fields)  # type: ignore[arg-type]
            self._queue.hold(_hold_text(self.trial))
            (self.progressed if self.trial.stage is stage else self.changed).emit()

    def _end(self, problem: ErrorInfo | None = None, *, cancelled: bool = False) -> None:
        self.trial = None
        self.problem, self.cancelled = problem, cancelled
        self._queue.release()
        self.changed.emit()

    # ------------------------------------------------------------ engine events

    def _state_changed(self, state: EngineState) -> None:
        if self.trial is None or self.trial.stage is not Stage.LOADING:
            return
        if state is EngineState.READY and self._is_loaded(self.trial.folder):
            self._run(self.trial)
        elif state is EngineState.READY:
            self._end(_not_loaded(tr("Another model was loaded, so nothing was measured.")))
        elif state in (EngineState.NO_MODEL, EngineState.GAVE_UP):
            self._end(self._load_error or _not_loaded(tr("The model was not loaded, so nothing was measured.")))

    def _is_loaded(self, folder: str) -> bool:
        model = self._queue.model
        return self._link.state is EngineState.READY and model is not None and model.path == folder

    def _lost(self, error: ErrorInfo) -> None:
        self._load_error = error

    def _receive(self, event: Event) -> None:
        if isinstance(event, Failed) and event.generation is None:
            self._load_error = event.error
        elif (
            self.trial is not None
            and isinstance(event, TrialProgress | _Ending)
            and event.generation == self.trial.request.generation
        ):
            self._follow(event, self.trial.stage)

    def _follow(self, event: TrialProgress | _Ending, stage: Stage) -> None:
        match event:
            case TrialProgress() if stage is Stage.RUNNING:
                self._update(fraction=event.fraction, step=event.what, left_s=event.left_s)
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


def _hold_text(trial: Trial) -> str:
    if trial.left_s is None:
        return tr("Waiting for the measurement in the Speed window…")
    left = formatting.duration(trial.left_s)
    return tr("Waiting for the measurement in the Speed window: about {left}…").format(left=left)


def _not_loaded(sentence: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.NO_MODEL, sentence)
