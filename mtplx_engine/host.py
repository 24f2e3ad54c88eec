"""The engine process (`python -m mtplx_engine.host FD LOG_DIR`): commands in, events out, all mlx work on one thread.

Three threads: the main thread receives commands and sends heartbeats; the engine thread takes jobs from the
`CommandQueue` and runs them on the engine; the counting thread answers `Count` meanwhile. Any of them sends events.
After an unexpected error the process exits with `EXIT_FAULT`, and the app starts a new one.
"""

from __future__ import annotations

import faulthandler
import importlib.metadata
import logging
import logging.handlers
import os
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind, LoadCancelledError
from mtplx_engine.ipc.channel import Channel
from mtplx_engine.ipc.protocol import (
    Abandoned,
    AnswerEvent,
    Cancel,
    Checked,
    CheckExactness,
    Count,
    Counted,
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
    Message,
    ModelInfo,
    Shutdown,
    TrialProgress,
    Unload,
    Unloaded,
)
from mtplx_engine.ipc.queue import CommandQueue, Job, Mailbox, Numbered
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mtplx_engine.engine import Engine as MlxEngine

    MeasureFunction = Callable[["EngineProtocol", Measure, threading.Event], Iterator[TrialProgress | Measured]]
    CheckFunction = Callable[["EngineProtocol", CheckExactness, threading.Event], Iterator[TrialProgress | Checked]]


EXIT_FAULT = 70  # the engine is in an unknown state: the app starts a new process

_HEARTBEAT_S = 1.0
_GRACE_S = 0.7  # for a forward that is running when the process shall exit
_FLUSH_S = 1.0

_log = logging.getLogger("mtplx.host")


class EngineProtocol(Protocol):
    """The interface of an engine towards the host; all calls but `count` come from one thread."""

    def load(
        self,
        model: str,
        data_dir: Path,
        report: Callable[[float, str], None],
        cancelled: threading.Event,
        draft_model: str,
        *,
        anyway: bool,
    ) -> ModelInfo:
        """Load a model. Raises EngineError, or LoadCancelledError soon after `cancelled` is set."""

    def generate(self, request: Generate, cancelled: threading.Event) -> Iterator[AnswerEvent]:
        """Yield the events of one answer, Finished as the last. Raises EngineError."""

    def count(self, request: Count) -> Counted:
        """Count a prompt; called from the counting thread, at any time."""

    def unload(self) -> None:
        """Drop the model, if any."""


def measure(engine: EngineProtocol, request: Measure, cancelled: threading.Event) -> Iterator[TrialProgress | Measured]:
    """Measure the loaded model of the real engine; Measured comes last, unless it is cancelled."""
    from mtplx_engine.bench import benchmark

    return benchmark.measure(cast("MlxEngine", engine), request, cancelled)


def check(
    engine: EngineProtocol, request: CheckExactness, cancelled: threading.Event
) -> Iterator[TrialProgress | Checked]:
    """Check the exactness of the loaded model of the real engine; Checked comes last, unless it is cancelled."""
    from mtplx_engine.bench import exactness

    return exactness.check(cast("MlxEngine", engine), request, cancelled)


class Host:
    """Connects a channel to an engine, made by `make_engine` on the engine thread, since making an engine imports mlx.

    `measure` and `check` run on that thread too, and raise EngineError.
    """

    def __init__(
        self,
        channel: Channel,
        make_engine: Callable[[], EngineProtocol],
        measure: MeasureFunction = measure,
        check: CheckFunction = check,
    ) -> None:
        self._channel = channel
        self._make_engine = make_engine
        self._measure = measure
        self._check = check
        self._engine: EngineProtocol | None = None
        self._queue = CommandQueue()
        self._counts: Mailbox[Count] = Mailbox()
        self._load_error: ErrorInfo | None = None
        self._fault = False

    def run(self) -> int:
        """Serve until Shutdown, the exit of the app or a fault; return the exit status of the process.

        The engine thread may still be busy afterwards: the caller exits the process.
        """
        worker = threading.Thread(target=self._work, name="engine", daemon=True)
        worker.start()
        counter = threading.Thread(target=self._count, name="counter", daemon=True)
        counter.start()
        self._channel.send(Hello(os.getpid(), importlib.metadata.version("mtplx")))
        try:
            self._serve()
        except EOFError:
            _log.info("no more commands")
        except EngineError as error:
            _log.warning("%s %s", error.info.message, error.info.details)
            self._fault = True
        self._queue.close()
        self._counts.close()
        worker.join(_GRACE_S)
        counter.join(_GRACE_S)
        self._channel.close(_FLUSH_S)
        return EXIT_FAULT if self._fault else 0

    # ------------------------------------------------------------ main thread

    def _serve(self) -> None:
        beat_at = time.monotonic()
        while True:
            if time.monotonic() >= beat_at:
                self._channel.send(Heartbeat(system.own_footprint()))
                beat_at = time.monotonic() + _HEARTBEAT_S
            message = self._channel.receive(beat_at - time.monotonic())
            if isinstance(message, Shutdown):
                return
            if message is not None:
                self._accept(message)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Count):
            self._counts.put(message)
            return
        _log.info("command %s", type(message).__name__)
        if isinstance(message, Load):
            ended = self._queue.add_load(message)
        elif isinstance(message, Unload):
            ended = self._queue.add_unload(message)
        elif isinstance(message, Cancel):
            job = self._queue.cancel(message.generation)
            ended = [job] if job else []
        elif isinstance(message, Numbered):
            self._queue.add(message)
            ended = []
        else:
            raise EngineError(ErrorKind.INTERNAL, "The app sent an event.", type(message).__name__)
        for job in ended:
            self._report_cancelled(job)

    def _report_cancelled(self, job: Job) -> None:
        """Send the last event of a job that was cancelled while it was queued."""
        if isinstance(job.command, Generate):
            stats = DecodeStats(depth=str(job.command.sampler.speculative_depth))
            self._channel.send(Finished(job.command.generation, FinishReason.CANCELLED, stats))
        elif isinstance(job.command, Numbered):
            self._channel.send(Abandoned(job.command.generation))
        else:
            self._channel.send(Unloaded())

    # ------------------------------------------------------------ engine thread

    def _work(self) -> None:
        while not self._fault and (job := self._queue.take()) is not None:
            started = time.monotonic()
            try:
                self._run_job(job)
            except EngineError as error:
                self._fail(job, error.info)
            except BaseException as error:  # noqa: BLE001 - a panic of the tokenizer is no Exception
                self._fault = True
                self._fail(job, _unexpected(error))
            _log.info("%s took %.3f s", type(job.command).__name__, time.monotonic() - started)
        if self._fault:
            self._channel.stop_receiving()

    def _run_job(self, job: Job) -> None:
        if self._engine is None:
            self._engine = self._make_engine()
        command = job.command
        if isinstance(command, Load):
            self._load(self._engine, command, job.cancelled)
        elif isinstance(command, Numbered):
            if self._load_error:
                raise EngineError.of(self._load_error)
            self._send_events(self._engine, command, job.cancelled)
        else:
            self._engine.unload()
            self._load_error = None
            self._channel.send(Unloaded())

    def _send_events(self, engine: EngineProtocol, command: Numbered, cancelled: threading.Event) -> None:
        """Run an answer, a measurement or a check to its end, and send its events."""
        events: Iterator[AnswerEvent | TrialProgress | Measured | Checked]
        if isinstance(command, Generate):
            events = engine.generate(command, cancelled)
        elif isinstance(command, Measure):
            events = self._measure(engine, command, cancelled)
        else:
            events = self._check(engine, command, cancelled)
        ended = False
        for event in events:
            self._channel.send(event)
            ended = isinstance(event, Finished | Measured | Checked)
        if not ended:
            self._channel.send(Abandoned(command.generation))

    def _load(self, engine: EngineProtocol, command: Load, cancelled: threading.Event) -> None:
        self._load_error = None
        try:
            info = engine.load(
                command.model,
                Path(command.data_dir),
                lambda fraction, phase: self._channel.send(LoadProgress(fraction, phase)),
                cancelled,
                command.draft_model,
                anyway=command.anyway,
            )
        except LoadCancelledError:
            self._channel.send(Unloaded())
            return
        _log.info("loaded in %.1f s on %s", info.load_s, info.backend)
        self._channel.send(Loaded(info))

    def _fail(self, job: Job, error: ErrorInfo) -> None:
        _log.warning("%s failed: %s\n%s", type(job.command).__name__, error.kind, error.details)
        if isinstance(job.command, Numbered):
            self._channel.send(Failed(error, job.command.generation))
        else:
            self._load_error = error
            self._channel.send(Failed(error))

    # ------------------------------------------------------------ counting thread

    def _count(self) -> None:
        while (request := self._counts.take()) is not None:
            engine, counted = self._engine, Counted(request.request, None)
            if engine is not None:
                try:
                    counted = engine.count(request)
                except BaseException as error:  # noqa: BLE001 - a panic of the tokenizer is no Exception
                    _log.warning("counting failed\n%s", _unexpected(error).details)
            self._channel.send(counted)


def serve(
    argv: Sequence[str],
    make_engine: Callable[[], EngineProtocol],
    measure: MeasureFunction = measure,
    check: CheckFunction = check,
) -> None:
    """Run the engine process and exit; `argv` is FD and LOG_DIR, for the rest see `Host`. Never returns."""
    descriptor, folder = argv
    _start_log(Path(folder))
    channel = Channel(socket.socket(fileno=int(descriptor)))
    status = Host(channel, make_engine, measure, check).run()
    logging.shutdown()
    # The engine thread may be in a forward that nothing can interrupt.
    os._exit(status)


def _start_log(folder: Path) -> None:
    """Log to a rotating file, and have native crashes print a traceback."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = logging.handlers.RotatingFileHandler(
            folder / "engine.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8"
        )
    except OSError:
        handler = logging.NullHandler()  # an engine without a log is better than none
    logging.basicConfig(handlers=[handler], format="%(asctime)s %(process)d %(levelname)s %(message)s")
    _log.setLevel(logging.INFO)
    faulthandler.enable()


def _unexpected(error: BaseException) -> ErrorInfo:
    """Describe an unexpected error; without its message where that could quote a prompt."""
    trace = "".join(traceback.format_tb(error.__traceback__))
    # These come from mlx and the system, and are about memory, devices and files.
    is_safe = isinstance(error, RuntimeError | OSError | MemoryError | ImportError)
    return ErrorInfo(
        ErrorKind.INTERNAL,
        "The engine had a fault and starts afresh. Try again; if it happens each time, choose another model.",
        f"{trace}{type(error).__name__}{f': {error}' if is_safe else ''}",
    )


def _make_mlx_engine() -> EngineProtocol:
    from mtplx_engine import backend

    backend.prepare()
    from mtplx_engine.engine import Engine

    return Engine()


if __name__ == "__main__":
    serve(sys.argv[1:], _make_mlx_engine)
