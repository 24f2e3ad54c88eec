"""Run work off the main thread and deliver its result on it."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from app.i18n import tr
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.hub.errors import HubError, HubErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable


_Result = TypeVar("_Result")

_END_S = 0.3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    thread: threading.Thread
    done: Callable[[Any], object]
    failed: Callable[[BaseException], object]


class TaskRunner(QObject):
    """Runs callables, each on a thread of its own, for an object of the main thread that must not wait for them.

    Daemon threads and no QThread: what is stuck in the system (a name that is being looked up, a disk that is gone)
    when the program ends would abort it as a QThread.

    Args:
        name: Of the threads.
        parent: Owns it.
        end_s: Seconds that running work gets to end by itself when it is abandoned, all of it together.
    """

    _ended = Signal(object, object, object)  # the task, its result or None, its exception or None

    def __init__(self, name: str, parent: QObject | None = None, *, end_s: float = _END_S) -> None:
        super().__init__(parent)
        self._name = name
        self._end_s = end_s
        self._lock = threading.Lock()
        self._running: set[_Task] = set()  # what is not in it is heard of no more
        self._ended.connect(self._deliver)

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return bool(self._running)

    def run(
        self,
        work: Callable[[], _Result],
        done: Callable[[_Result], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Call `work` on another thread, then `done` or `failed` on this one, with what it returned or raised."""
        thread = threading.Thread(target=lambda: self._work(task, work), name=self._name, daemon=True)
        task = _Task(thread, done, failed)
        with self._lock:
            self._running.add(task)
        thread.start()

    def abandon(self) -> None:
        """Deliver nothing of what is running, once it had its time to end."""
        end = time.monotonic() + self._end_s
        for task in self._running:
            task.thread.join(max(end - time.monotonic(), 0.0))
        with self._lock:
            self._running.clear()

    def _work(self, task: _Task, work: Callable[[], object]) -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - told to whoever asked
            error = raised
        with self._lock:
            if task in self._running:  # or this object may be gone
                self._ended.emit(task, result, error)

    @Slot(object, object, object)
    def _deliver(self, task: _Task, result: object, error: BaseException | None) -> None:
        with self._lock:
            if task not in self._running:
                return
            self._running.discard(task)
        if error is None:
            task.done(result)
        else:
            task.failed(error)


def describe(error: BaseException, what: str) -> tuple[ErrorInfo, HubErrorKind | None]:
    """Return an error in words, and what kind of trouble with a hub it is, if any; log it.

    Args:
        error: As it was raised.
        what: What failed, for the log.
    """
    if isinstance(error, HubError):
        _log.warning("%s: %s", what, error.problem.name)
        return error.info, error.problem
    if isinstance(error, EngineError):
        _log.warning("%s: %s", what, error.kind)
        return error.info, None
    # Not the words of the error: they may quote an address with a key in it.
    details = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}"
    _log.error("%s: %s", what, details)
    sentence = tr("MTPLX had a fault of its own in this. Try again; if it happens each time, restart it.")
    return ErrorInfo(ErrorKind.INTERNAL, sentence, details), None
