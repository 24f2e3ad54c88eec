"""The engine as the main thread sees it: calls that never block, and signals."""

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
    """Starts the engine process, sends it requests, and keeps it alive; see `EngineWorker` for its exits.

    A request may be sent at any time after `start`: it waits in the engine's queue until the model is loaded. Every
    generation ends with exactly one `Finished` or `Failed`, and no event of it follows. Every benchmark or exactness
    check likewise ends with exactly one `Measured`, `Checked`, `Abandoned` or `Failed`.

    Args:
        make_client: Starts an engine process, as in `partial(EngineClient, log_dir)`.
        stop_s: Seconds after which the process of a cancelled generation that has not finished is killed.

    Attributes:
        model: The last requested model, a folder or a name; "" before.

    Signals:
        state_changed(EngineState): The state has changed.
        loaded(ModelInfo): The model is loaded.
        lost(ErrorInfo): The process exited or hangs. It is restarted, unless the state becomes GAVE_UP.
        happened(Event): Any other event of the engine; receivers match on its type. A `Failed` whose generation is
            None is about loading.
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
        """Start the engine process and load a model, see `load`; `data_dir` has the installed ones."""
        self._data_dir = str(data_dir)
        self._thread.start()
        self.load(model, anyway=anyway)

    def load(self, model: str, *, anyway: bool = False) -> None:
        """Load a model, a folder or the name of an installed one, in a fresh process in place of the current one.

        With `anyway` even when it will not fit into memory.
        """
        self.model = model
        self._submitted.emit(Load(model, self._data_dir, anyway=anyway))

    def unload(self) -> None:
        """Free all of the model's memory, or stop loading; `restart` loads it again."""
        self._submitted.emit(Unload())

    def submit(self, request: Generate | Measure | CheckExactness | Count) -> None:
        """Send a request.

        Its generation id must be new. `Counted` follows a `Count`, unless a newer one is sent or no process runs.
        """
        self._submitted.emit(request)

    def cancel(self, generation: int) -> None:
        """Cancel a request at any stage; no effect when it is over."""
        self._submitted.emit(Cancel(generation))

    def restart(self) -> None:
        """Replace the engine process and load the same model again."""
        self._restart_requested.emit()

    def shutdown(self) -> None:
        """End the process and the thread within 3 s; events until then are delivered."""
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
