"""Runs work on other threads and delivers its result on the main thread."""

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
    """Runs callables, each on a thread of its own, for an object of the main thread.

    Daemon threads and no QThread: a call stuck in the system (a DNS query, a disk that is gone) when the program ends
    would abort it as a QThread.

    Args:
        end_s: Seconds that all running work together gets to end when it is abandoned.
    """

    _ended = Signal(object, object, object)  # the task, its result or None, its exception or None

    def __init__(self, name: str, parent: QObject | None = None, *, end_s: float = _END_S) -> None:
        super().__init__(parent)
        self._name = name
        self._end_s = end_s
        self._lock = threading.Lock()
        self._running: set[_Task] = set()  # results of others are dropped
        self._ended.connect(self._deliver)

    @property
    def busy(self) -> bool:
        """Whether a result is pending."""
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
        """Drop the results of running work, after it had `end_s` to end."""
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


def describe(error: BaseException, action: str) -> tuple[ErrorInfo, HubErrorKind | None]:
    """Log an error of `action`; return it with a sentence, and its kind where it is an error of a hub."""
    if isinstance(error, HubError):
        _log.warning("%s: %s", action, error.problem.name)
        return error.info, error.problem
    if isinstance(error, EngineError):
        _log.warning("%s: %s", action, error.kind)
        return error.info, None
    # Not the message of the error: it may quote an address with a key.
    details = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}"
    _log.error("%s: %s", action, details)
    sentence = tr("MTPLX had a fault of its own in this. Try again; if it happens each time, restart it.")
    return ErrorInfo(ErrorKind.INTERNAL, sentence, details), None
