"""The queue of downloads, and their states."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.model_manager.download_job import DownloadFolder, DownloadJob
from app.services.tasks import TaskRunner, describe
from mtplx_engine.hub import retries
from mtplx_engine.hub.errors import CancelledError, HubError
from mtplx_engine.hub.retries import Retries
from mtplx_engine.hub.transfer_stats import Speed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.model_manager.download_job import Begun, DownloadEnd
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.errors import HubErrorKind
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.retries import Waiting


_READING_MS = 250
_WAITING_MS = 1000
_END_S = 0.9
_AGAIN = Retries(first_s=10.0, longest_s=120.0)  # of downloads that wait out of the queue
_STILL = {"bytes_s": None, "seconds_left": None, "waiting": None, "again_s": None}


class DownloadState(StrEnum):
    """The state of a download in the queue."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class DownloadRow:
    """A download.

    Attributes:
        id: Of the model, and of its folder.
        done: Valid bytes on the disk.
        total: Bytes of all files.
        bytes_s: Bytes per second, None before there is a measurement.
        seconds_left: How long the rest takes, None when it is unknown.
        waiting: The wait before the next try: out of the queue if WAITING, a short one if RUNNING.
        again_s: Whole seconds left of `waiting`, None without it.
        renewed: Whether the hub's files have changed since the inspection, so that the new ones are fetched.
        problem: The kind of the failure, whose value names the remedy.
    """

    id: str
    title: str
    state: DownloadState
    done: int
    total: int
    bytes_s: float | None = None
    seconds_left: float | None = None
    waiting: Waiting | None = None
    again_s: int | None = None
    renewed: bool = False
    error: ErrorInfo | None = None
    problem: HubErrorKind | None = None


class DownloadItem:
    """A download in the queue.

    Attributes:
        noted: Whether its plan is stored on the disk.
        present: Bytes that were on the disk before its job began.
        failures: Failures of its jobs in a row, without a byte in between.
    """

    def __init__(self, plan: DownloadPlan, state: DownloadState, present: int, *, noted: bool) -> None:
        self.plan = plan
        self.row = DownloadRow(plan.id, plan.title, state, present, plan.size)
        self.noted = noted
        self.present = present
        self.speed = Speed()
        self.failures = 0


AT_ONCE = 2

_HALTED = (DownloadState.PAUSED, DownloadState.FAILED, DownloadState.WAITING)
_GOING = (DownloadState.QUEUED, DownloadState.RUNNING, DownloadState.WAITING)  # at the next start too


class Downloads(QObject):
    """The queue of downloads, two of which run at a time. It outlasts the program.

    After a quit, unfinished downloads go on by themselves; after a crash they are paused. A download that has to wait,
    because the hub asks for it or cannot be reached, makes room for the next one and is queued again after the wait.

    Args:
        connect: Returns the connection to the hub; called on another thread.

    Signals:
        changed(DownloadRow): A row is new or has changed.
        removed(str): The row with this id is gone.
        installed(DownloadRow): A model is ready.
    """

    changed = Signal(object)
    removed = Signal(str)
    installed = Signal(object)

    def __init__(self, data_dir: Path, connect: Callable[[], HubConnection], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._connect = connect
        self._folder = DownloadFolder(data_dir)
        self._items: dict[str, DownloadItem] = {}
        self._unwanted: dict[str, DownloadPlan] = {}  # to be deleted once they have no task
        self._tasks = TaskRunner("download", self, end_s=_END_S)
        self._working: set[str] = set()  # downloads with a task, at most one for each
        self._jobs: dict[str, DownloadJob] = {}
        self._closed = False
        self._clock = QTimer(self, interval=_READING_MS)
        self._clock.timeout.connect(self._measure)
        self._again = QTimer(self, interval=_WAITING_MS)
        self._again.timeout.connect(self._count_down)

    def open(self) -> None:
        """Find the unfinished downloads: `changed` follows for each."""
        self._begin("", self._folder.open, self._opened)

    def rows(self) -> tuple[DownloadRow, ...]:
        """Return all downloads, the oldest first; installed ones stay until they are cleared."""
        return tuple(item.row for item in self._items.values())

    def enqueue(self, plan: DownloadPlan) -> None:
        """Queue a model unless it is queued or running; another plan than the one begun starts over."""
        known = self._items.get(plan.id)
        if known is not None and known.row.state in (DownloadState.QUEUED, DownloadState.RUNNING):
            return
        if known is not None and known.row.state in _HALTED:
            if known.plan == plan:
                self.resume(plan.id)
                return
            self._unwanted[plan.id] = known.plan
        self._items[plan.id] = DownloadItem(plan, DownloadState.QUEUED, 0, noted=False)
        self.changed.emit(self._items[plan.id].row)
        self._advance()

    def pause(self, plan_id: str) -> None:
        item = self._items[plan_id]
        if item.row.state in _GOING:
            self._stop(plan_id)
            self._set(item, state=DownloadState.PAUSED, **_STILL)
            self._advance()

    def resume(self, plan_id: str) -> None:
        """Queue a download that is paused, failed or waiting."""
        item = self._items[plan_id]
        if item.row.state in _HALTED:
            self._set(item, state=DownloadState.QUEUED, error=None, problem=None, **_STILL)
            self._advance()

    def cancel(self, plan_id: str) -> None:
        """Remove a download from the list, and delete its partial files unless the model is installed."""
        item = self._items.pop(plan_id)
        self._stop(plan_id)
        if item.row.state is not DownloadState.DONE:
            self._unwanted[plan_id] = item.plan
        self.removed.emit(plan_id)
        self._advance()

    def close(self) -> None:
        """Stop all downloads, within a second; they go on at the next start. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._clock.stop()
        self._again.stop()
        for plan_id in self._jobs:
            self._stop(plan_id)
        self._tasks.abandon()
        going = [item.plan.id for item in self._items.values() if item.row.state in _GOING]
        if going:
            self._folder.note_going(going)

    # ------------------------------------------------------------ scheduling

    def _advance(self) -> None:
        for plan_id in dict.fromkeys((*self._unwanted, *self._items)):
            item = self._items.get(plan_id)
            if plan_id in self._working:
                continue
            if plan_id in self._unwanted:
                plan = self._unwanted.pop(plan_id)
                self._begin(plan_id, partial(self._folder.discard, plan), partial(self._discarded, plan))
            elif item is not None and not item.noted and item.row.state is not DownloadState.FAILED:
                self._begin(plan_id, partial(self._folder.note, item.plan), partial(self._noted, item))
            elif item is not None and item.row.state is DownloadState.QUEUED and self._running() < AT_ONCE:
                self._fetch(item)
        if not self._running():
            self._clock.stop()
        elif not self._clock.isActive():
            self._clock.start()

    def _running(self) -> int:
        return sum(item.row.state is DownloadState.RUNNING for item in self._items.values())

    def _fetch(self, item: DownloadItem) -> None:
        job = self._jobs[item.plan.id] = DownloadJob(item.plan, self._data_dir, self._connect)
        item.speed = Speed()
        self._begin(item.plan.id, job.run, partial(self._fetched, item))
        self._set(item, state=DownloadState.RUNNING)

    def _begin(self, plan_id: str, work: Callable[[], object], then: Callable[[Any], None]) -> None:
        def end(outcome: object) -> None:
            if not self._closed:
                self._working.discard(plan_id)
                then(outcome)
                self._advance()

        self._working.add(plan_id)
        self._tasks.run(work, end, end)

    def _stop(self, plan_id: str) -> None:
        job = self._jobs.get(plan_id)
        if job is not None:
            job.stop()

    # ------------------------------------------------------------ outcomes

    def _opened(self, outcome: tuple[Begun, ...] | BaseException) -> None:
        if isinstance(outcome, BaseException):
            describe(outcome, "finding downloads")
            return
        for begun in outcome:
            if begun.plan.id not in self._items:
                state = DownloadState.QUEUED if begun.going else DownloadState.PAUSED
                self._items[begun.plan.id] = DownloadItem(begun.plan, state, begun.present, noted=True)
                self.changed.emit(self._items[begun.plan.id].row)

    def _noted(self, item: DownloadItem, outcome: DownloadPlan | BaseException) -> None:
        if isinstance(outcome, BaseException):
            self._fail(item, outcome)
        else:
            item.plan, item.noted = outcome, True
            if self._unwanted.get(outcome.id) == outcome:  # cancelled meanwhile; now its folder is known
                self._unwanted[outcome.id] = outcome

    def _discarded(self, plan: DownloadPlan, error: BaseException | None) -> None:
        """List a download again whose files could not be deleted, with the reason."""
        if error is None:
            return
        if plan.id in self._items:
            describe(error, f"deleting what arrived of {plan.id}")
            return
        item = self._items[plan.id] = DownloadItem(plan, DownloadState.PAUSED, 0, noted=True)
        self._fail(item, error)

    def _fetched(self, item: DownloadItem, end: DownloadEnd) -> None:
        tally = self._jobs.pop(item.plan.id).tally
        self._set(item, **_plan_fields(end.plan, item))
        item.plan = end.plan
        if tally is not None and tally.fetched:
            item.failures = 0
        item.present = end.present
        if end.error is None:
            self._set(item, state=DownloadState.DONE, done=end.present, **_STILL)
            self.installed.emit(item.row)
        elif isinstance(end.error, CancelledError) or item.row.state is not DownloadState.RUNNING:
            self._set(item, done=end.present)
        elif isinstance(end.error, HubError) and end.error.passes:
            self._put_off(item, end.error)
        else:
            self._fail(item, end.error)

    def _put_off(self, item: DownloadItem, error: HubError) -> None:
        """Let a download wait out of the queue."""
        describe(error, f"download of {item.plan.id}")
        item.failures += 1
        waiting = retries.waiting(error, _AGAIN.wait_s(item.failures, error))
        self._set(item, state=DownloadState.WAITING, done=item.present, **_STILL | _wait_fields(waiting))
        self._again.start()

    def _fail(self, item: DownloadItem, error: BaseException) -> None:
        info, problem = describe(error, f"download of {item.plan.id}")
        self._set(
            item,
            state=DownloadState.FAILED,
            done=item.present,
            error=info,
            problem=problem,
            **_STILL,
        )

    def _count_down(self) -> None:
        """Queue the downloads whose wait is over, and count down the others."""
        waiting = [item for item in self._items.values() if item.row.state is DownloadState.WAITING]
        for item in waiting:
            found = _wait_fields(item.row.waiting)
            if found["again_s"]:
                self._set(item, **found)
            else:
                self.resume(item.plan.id)
        if not waiting:
            self._again.stop()

    def _measure(self) -> None:
        for item in tuple(self._items.values()):
            job = self._jobs.get(item.plan.id)
            if item.row.state is not DownloadState.RUNNING or job is None or job.tally is None:
                continue
            tally, plan = job.tally, job.plan
            item.speed.note(time.monotonic(), tally.fetched)
            self._set(
                item,
                **_plan_fields(plan, item),
                done=max(tally.done, item.present if plan == item.plan else 0),
                bytes_s=item.speed.bytes_s,
                seconds_left=item.speed.seconds_left(plan.size - tally.done),
                **_wait_fields(tally.waiting),
            )

    def _set(self, item: DownloadItem, **fields: object) -> None:
        """Change a row; `changed` follows if it is still in the list."""
        row = dataclasses.replace(item.row, **fields)  # type: ignore[arg-type]
        if row != item.row:
            item.row = row
            if self._items.get(row.id) is item:
                self.changed.emit(row)


def _plan_fields(plan: DownloadPlan, item: DownloadItem) -> dict[str, Any]:
    return {"total": plan.size, "renewed": item.row.renewed or plan != item.plan}


def _wait_fields(waiting: Waiting | None) -> dict[str, Any]:
    seconds = None if waiting is None else math.ceil(waiting.seconds(time.time()))
    return {"waiting": waiting, "again_s": seconds}
