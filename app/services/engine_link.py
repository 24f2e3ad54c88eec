"""The window's handle on the engine: calls that never block, and signals on the main thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QThread, Signal, Slot

from app.services.engine_worker import EngineState, EngineWorker
from mtplx_engine.errors import ErrorInfo
from mtplx_engine.ipc.client import RestartBudget
from mtplx_engine.ipc.protocol import Cancel, Load, Loaded, Unload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.ipc.client import EngineClient
    from mtplx_engine.ipc.protocol import CheckExactness, Count, Event, Generate, Measure


class EngineLink(QObject):
    """Starts the engine, asks it, and keeps it alive; see `EngineWorker` for what happens when it dies.

    A question may be asked at any time after `start`: it waits in the engine's line until the model is in. Every
    answer ends with exactly one `Finished` or `Failed`, and nothing of it comes after that. Every trial (a measurement
    or a check of exactness) likewise ends with exactly one `Measured`, `Checked`, `Abandoned` or `Failed`.

    Args:
        make_client: Starts an engine process, as in `partial(EngineClient, log_dir)`.
        stop_s: A cancelled answer that has not finished after so many seconds takes its process with it.
        clock: Seconds that only grow, for counting restarts.

    Attributes:
        state: The state that was signalled last.
        model: What was asked for last, a folder or a name; "" before.

    Signals:
        state_changed(EngineState): The engine does something else now.
        loaded(ModelInfo): The model is in.
        lost(ErrorInfo): The process ended or hangs. It is started again, unless the state becomes GAVE_UP.
        happened(Event): Anything else that the engine tells: receivers match on its type. A `Failed` is about loading
            when its generation is None.
    """

    state_changed = Signal(object)
    loaded = Signal(object)
    lost = Signal(object)
    happened = Signal(object)

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

    def submit(self, request: Generate | Measure | CheckExactness | Count) -> None:
        """Ask for an answer, a trial or the length of a prompt.

        The generation of an answer or a trial must be new. `Counted` follows a `Count`, unless a newer one is asked
        for or no process runs.
        """
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
    def _deliver(self, event: EngineState | ErrorInfo | Event) -> None:
        match event:
            case EngineState():
                self.state = event
                self.state_changed.emit(event)
            case ErrorInfo():
                self.lost.emit(event)
            case Loaded():
                self.loaded.emit(event.info)
            case _:
                self.happened.emit(event)
