"""The window's handle on the engine: calls that never block, and signals on the main thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QThread, Signal, SignalInstance, Slot

from app.services.engine_worker import EngineState, EngineWorker
from mtplx_engine.client import RestartBudget
from mtplx_engine.errors import ErrorInfo
from mtplx_engine.protocol import (
    Cancel,
    Counted,
    DepthChosen,
    Failed,
    Finished,
    Generate,
    Heartbeat,
    Load,
    Loaded,
    LoadProgress,
    PrefillProgress,
    Tokens,
    Unload,
)
from mtplx_engine.trials import Abandoned, Checked, Measured, TrialProgress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.client import EngineClient
    from mtplx_engine.protocol import Count
    from mtplx_engine.trials import CheckExactness, Measure

__all__ = ["EngineLink", "EngineState"]


class EngineLink(QObject):
    """Starts the engine, asks it, and keeps it alive; see `EngineWorker` for what happens when it dies.

    A question may be asked at any time after `start`: it waits in the engine's line until the model is in. Every
    answer ends with exactly one `finished` or `failed`, and nothing of it comes after that. Every trial (a measurement
    or a check of exactness) likewise ends with exactly one `measured`, `checked`, `abandoned` or `failed`.

    Args:
        make_client: Starts an engine process, as in `partial(EngineClient, log_dir)`.
        stop_s: A cancelled answer that has not finished after so many seconds takes its process with it.
        clock: Seconds that only grow, for counting restarts.

    Attributes:
        state: The state that was signalled last.
        model: What was asked for last, a folder or a name; "" before.

    Signals:
        state_changed(EngineState): The engine does something else now.
        load_progress(float, str): How much of the model is loaded, 0..1, and what is being done.
        loaded(ModelInfo): The model is in.
        prefill(PrefillProgress): How much of the prompt has been read.
        depth_chosen(DepthChosen): How deep an answer is drafted from now on, and why.
        tokens(Tokens): What one decode cycle committed.
        finished(Finished): An answer ended, by itself or because it was cancelled.
        counted(Counted): How long a prompt is.
        trial_progress(TrialProgress): How far a trial is.
        measured(Measured): A measurement ended.
        checked(Checked): A check of exactness ended.
        abandoned(int): The trial of this generation was cancelled.
        beat(Heartbeat): The process is alive, and how much memory it has.
        failed(Failed): An answer or a trial failed, or loading when its generation is None.
        lost(ErrorInfo): The process ended or hangs. It is started again, unless the state becomes GAVE_UP.
    """

    state_changed = Signal(object)
    load_progress = Signal(float, str)
    loaded = Signal(object)
    prefill = Signal(object)
    depth_chosen = Signal(object)
    tokens = Signal(object)
    finished = Signal(object)
    counted = Signal(object)
    trial_progress = Signal(object)
    measured = Signal(object)
    checked = Signal(object)
    abandoned = Signal(int)
    beat = Signal(object)
    failed = Signal(object)
    lost = Signal(object)

    _submitted = Signal(object)
    _restart_requested = Signal()
    _close_requested = Signal()

    def __init__(
        self,
        make_client: Callable[[], EngineClient],
        *,
        stop_s: float = 3.0,
        clock: Callable[[], float] = time.monotonic,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.state = EngineState.CLOSED
        self.model = ""
        self._data_dir = ""
        self._signals = self._signal_of_each()
        self._thread = QThread()
        self._thread.setObjectName("engine")
        self._worker = EngineWorker(make_client, RestartBudget(clock), stop_s)
        self._worker.moveToThread(self._thread)
        self._worker.happened.connect(self._deliver)
        self._submitted.connect(self._worker.submit)
        self._restart_requested.connect(self._worker.restart)
        self._close_requested.connect(self._worker.close)

    def start(self, model: str, data_dir: Path, *, anyway: bool = False) -> None:
        """Start the engine process and load a model, see `load`; installed ones are in the data folder."""
        self._data_dir = str(data_dir)
        self._thread.start()
        self.load(model, anyway=anyway)

    def load(self, model: str, *, anyway: bool = False) -> None:
        """Load a model in place of the one that is loaded or being loaded, in a process of its own.

        Args:
            model: A folder, or the name of an installed model.
            anyway: Load it even when it will not fit into memory.
        """
        self.model = model
        self._submitted.emit(Load(model, self._data_dir, anyway=anyway))

    def unload(self) -> None:
        """Give all of the model's memory back, or stop loading; `restart` loads it again."""
        self._submitted.emit(Unload())

    def generate(self, request: Generate) -> None:
        """Ask for an answer; `request.generation` must be new."""
        self._submitted.emit(request)

    def measure(self, request: Measure) -> None:
        """Ask for a measurement; `request.generation` must be new."""
        self._submitted.emit(request)

    def check(self, request: CheckExactness) -> None:
        """Ask for a check of exactness; `request.generation` must be new."""
        self._submitted.emit(request)

    def count(self, request: Count) -> None:
        """Ask for the length of a prompt; `counted` follows, unless a newer one is asked for or no process runs."""
        self._submitted.emit(request)

    def cancel(self, generation: int) -> None:
        """Stop an answer or a trial at whatever stage it is; nothing happens when it is over."""
        self._submitted.emit(Cancel(generation))

    def restart(self) -> None:
        """Replace the engine process and load the same model again."""
        self._restart_requested.emit()

    def shutdown(self) -> None:
        """End the process and the thread, within 3 s. What came before that is still delivered."""
        if self._thread.isRunning():
            self._close_requested.emit()
            self._thread.wait()
            QCoreApplication.sendPostedEvents(self)
            self._deliver(EngineState.CLOSED)

    @Slot(object)
    def _deliver(self, event: object) -> None:
        match event:
            case EngineState():
                self.state = event
                self.state_changed.emit(event)
            case LoadProgress():
                self.load_progress.emit(event.fraction, event.phase)
            case Loaded():
                self.loaded.emit(event.info)
            case Abandoned():
                self.abandoned.emit(event.generation)
            case _:
                self._signals[type(event)].emit(event)

    def _signal_of_each(self) -> dict[type, SignalInstance]:
        """Return the signal of each event that is told as it is."""
        return {
            ErrorInfo: self.lost,
            PrefillProgress: self.prefill,
            DepthChosen: self.depth_chosen,
            Tokens: self.tokens,
            Finished: self.finished,
            Counted: self.counted,
            Failed: self.failed,
            Heartbeat: self.beat,
            TrialProgress: self.trial_progress,
            Measured: self.measured,
            Checked: self.checked,
        }
