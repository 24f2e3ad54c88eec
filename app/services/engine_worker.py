"""The worker that owns the engine process: requests, restarts, delivery of events."""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, QTimer, Signal, Slot

from app.i18n import marked, tr
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Cancel,
    Checked,
    CheckExactness,
    Count,
    Counted,
    DepthChosen,
    Event,
    Failed,
    Finished,
    Generate,
    Heartbeat,
    Hello,
    Load,
    Loaded,
    LoadProgress,
    Measure,
    Measured,
    PrefillProgress,
    Tokens,
    TrialProgress,
    Unload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.ipc.client import EngineClient, RestartBudget


_SILENCE_CHECK_MS = 1000
# Requests that end exactly once, by one of `_Ending`.
_Task = Generate | Measure | CheckExactness
_Ending = Finished | Measured | Checked | Abandoned | Failed


class EngineState(Enum):
    """State of the engine process and its model."""

    CLOSED = auto()  # not started yet, or shut down
    STARTING = auto()  # the process starts
    LOADING = auto()  # a model is being loaded
    READY = auto()  # a model is loaded
    NO_MODEL = auto()  # the process runs, but loading failed or was cancelled
    GAVE_UP = auto()  # the process exited too often; only the user restarts it


class EngineLoss(Enum):
    """Why a process ended with requests open; the values are the sentences for a generation and for a benchmark."""

    STOPPED = (
        marked("The engine stopped; the answer so far is kept."),
        marked("The engine stopped; nothing of what it measured is kept."),
    )
    RESTARTED = (
        marked("The engine was restarted; the answer so far is kept."),
        marked("The engine was restarted; nothing of what it measured is kept."),
    )
    OTHER_MODEL = (
        marked("Another model was loaded; the answer so far is kept."),
        marked("Another model was loaded; nothing of what was measured is kept."),
    )
    UNLOADED = (
        marked("The model was unloaded; the answer so far is kept."),
        marked("The model was unloaded; nothing of what was measured is kept."),
    )
    OVERDUE = (
        marked("The engine did not stop in time and was restarted; the answer so far is kept."),
        marked("The engine did not stop in time and was restarted; nothing of what it measured is kept."),
    )
    NOT_RUNNING = (
        marked("The engine is not running. Press Restart to start it."),
        marked("The engine is not running. Restart it in the Model menu, then measure again."),
    )

    def sentence(self, command: _Task) -> str:
        """Return the sentence for a request that it ended."""
        of_generation, of_benchmark = self.value
        return tr(of_generation if isinstance(command, Generate) else of_benchmark)


class EngineWorker(QObject):
    """Owns the client of the engine process. Everything but the constructor runs on the worker's thread.

    It drops late events: of a request that is over (finished, failed, or lost with its process) none is delivered.

    Args:
        stop_s: Seconds after which the process of a cancelled generation that has not finished is killed.

    Signals:
        happened(object): An `EngineState`, an event of the protocol, or an `ErrorInfo` when the process was lost.
    """

    happened = Signal(object)

    def __init__(self, make_client: Callable[[], EngineClient], budget: RestartBudget, stop_s: float) -> None:
        super().__init__()
        self._make_client = make_client
        self._budget = budget
        self._stop_s = stop_s
        self._client: EngineClient | None = None
        self._notifier: Readable | None = None
        self._model: Load | None = None  # the last requested one
        self._wanted = False  # whether it is to be loaded when a process starts
        self._load_sent = False  # to this process
        self._loading = False
        self._open: dict[int, _Task] = {}
        self._stop_by: dict[int, float] = {}
        self._silence_timer = QTimer(self, interval=_SILENCE_CHECK_MS)
        self._silence_timer.timeout.connect(self._read)
        self._stop_timer = QTimer(self, singleShot=True)
        self._stop_timer.timeout.connect(self._end_overdue)

    # ------------------------------------------------------------ requests

    @Slot(object)
    def submit(self, command: Load | _Task | Count | Cancel | Unload) -> None:
        """Send a command to the process; Load and Unload replace a process that has a model."""
        if isinstance(command, Load):
            self._load(command)
        elif isinstance(command, _Task):
            self._begin(command)
        elif isinstance(command, Unload):
            self._unload()
        elif isinstance(command, Count):
            if self._client:
                self._client.send(command)
        elif self._client and command.generation in self._open:
            self._client.send(command)
            self._stop_by[command.generation] = time.monotonic() + self._stop_s
            if not self._stop_timer.isActive():
                self._stop_timer.start(int(self._stop_s * 1000))

    @Slot()
    def restart(self) -> None:
        """Replace the process in any state, and load the same model again."""
        self._wanted = True
        self._replace(EngineLoss.RESTARTED)

    @Slot()
    def close(self) -> None:
        """End the process and this thread's event loop."""
        if self._client:
            self._client.close()
        self._end_client()
        self._open.clear()
        self.thread().quit()

    def _load(self, command: Load) -> None:
        """Load a model; a process that has had one is replaced, which frees all of its memory."""
        self._model = command
        self._wanted = True
        if self._client is not None and not self._load_sent:
            self._send_load(self._client, command)
            self.happened.emit(EngineState.LOADING)
            return
        waiting: list[Generate] = []
        if self._loading:  # none of them has begun, and another model can run them
            waiting = [
                request
                for request in self._open.values()
                if isinstance(request, Generate) and request.generation not in self._stop_by
            ]
        for request in waiting:
            del self._open[request.generation]
        self._replace(EngineLoss.OTHER_MODEL)
        for request in waiting:
            self._begin(request)

    def _unload(self) -> None:
        self._wanted = False
        if self._load_sent:
            self._replace(EngineLoss.UNLOADED)

    def _send_load(self, client: EngineClient, command: Load) -> None:
        client.send(command)
        self._load_sent = self._loading = True

    def _replace(self, loss: EngineLoss) -> None:
        """Start a fresh process on the user's request, and fail the open requests of the former one."""
        self._end_client()
        self._fail_open(loss)
        self._budget.refill()
        self._start()

    def _begin(self, command: _Task) -> None:
        if self._client is None:
            error = ErrorInfo(ErrorKind.ENGINE_LOST, EngineLoss.NOT_RUNNING.sentence(command))
            self.happened.emit(Failed(error, command.generation))
        else:
            self._open[command.generation] = command
            self._client.send(command)

    # ------------------------------------------------------------ the process

    def _start(self) -> None:
        self.happened.emit(EngineState.STARTING)
        try:
            self._client = self._make_client()
        except EngineError as error:
            self.happened.emit(error.info)
            self.happened.emit(EngineState.GAVE_UP)
            return
        self._notifier = Readable(self._client.fileno(), self._read, self)
        self._silence_timer.start()
        if self._model and self._wanted:
            self._send_load(self._client, self._model)

    def _end_client(self) -> None:
        self._silence_timer.stop()
        self._stop_timer.stop()
        self._stop_by.clear()
        self._load_sent = self._loading = False
        if self._notifier:
            self._notifier.setEnabled(False)
            self._notifier.deleteLater()
            self._notifier = None
        if self._client:
            self._client.kill()
            self._client = None

    def _fail_open(self, loss: EngineLoss, details: str = "") -> None:
        for generation, command in sorted(self._open.items()):
            error = ErrorInfo(ErrorKind.ENGINE_LOST, loss.sentence(command), details)
            self.happened.emit(Failed(error, generation))
        self._open.clear()

    def _lose(self, reason: ErrorInfo) -> None:
        """Drop a process that exited or hangs, and start another while the budget lasts."""
        self._end_client()
        self._fail_open(EngineLoss.STOPPED, reason.message)
        if self._budget.spend():
            self.happened.emit(reason)
            self._start()
        else:
            self.happened.emit(
                ErrorInfo(
                    reason.kind,
                    tr(
                        "The engine stopped {count} times within {minutes} minutes, so MTPLX no longer starts it by "
                        "itself. Press Restart to try again."
                    ).format(count=self._budget.limit + 1, minutes=f"{self._budget.window_s / 60:.0f}"),
                    reason.message,
                )
            )
            self.happened.emit(EngineState.GAVE_UP)

    @Slot()
    def _end_overdue(self) -> None:
        """Replace a process that did not stop in time: it is stuck in one long forward pass."""
        now = time.monotonic()
        if any(by <= now for by in self._stop_by.values()):
            self._end_client()
            self._fail_open(EngineLoss.OVERDUE)
            self._start()
        elif self._stop_by:
            self._stop_timer.start(int((min(self._stop_by.values()) - now) * 1000) + 1)

    # ------------------------------------------------------------ events

    @Slot()
    def _read(self) -> None:
        try:
            while self._client and (event := self._client.read(0)) is not None:
                self._handle(event)
        except EngineError as error:
            self._lose(error.info)

    def _handle(self, event: Event) -> None:
        match event:
            case Hello():
                self.happened.emit(EngineState.LOADING if self._load_sent else EngineState.NO_MODEL)
            case LoadProgress() | Counted() | Heartbeat():
                self.happened.emit(event)
            case Loaded() | Failed(generation=None):
                self._end_load(event)
            case PrefillProgress() | DepthChosen() | Tokens() | TrialProgress():
                self._pass_on(event)
            case Finished() | Measured() | Checked() | Abandoned() | Failed():
                self._pass_on(event)

    def _pass_on(self, event: PrefillProgress | DepthChosen | Tokens | TrialProgress | _Ending) -> None:
        if event.generation not in self._open:
            return
        if isinstance(event, _Ending):
            del self._open[event.generation]
            self._stop_by.pop(event.generation, None)
        self.happened.emit(event)

    def _end_load(self, event: Loaded | Failed) -> None:
        self._loading = False
        if isinstance(event, Failed):
            self._wanted = False
        self.happened.emit(event)
        self.happened.emit(EngineState.READY if isinstance(event, Loaded) else EngineState.NO_MODEL)


class Readable(QSocketNotifier):
    """Calls a function on its own thread when a descriptor is readable; a notifier without a connection.

    Connecting a signal on another thread than the main one can deadlock: it waits for a lock of Qt while it holds the
    GIL, and the deletion of a receiver on the main thread takes the two in the other order.
    """

    def __init__(self, descriptor: int, read: Callable[[], None], parent: QObject) -> None:
        super().__init__(descriptor, QSocketNotifier.Type.Read, parent)
        self._read = read

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.SockAct:
            self._read()
            return True
        return super().event(event)
