"""A download as people see it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.problem import Problem
    from mtplx_engine.hub.waiting import Waiting


class DownloadState(StrEnum):
    """How a download stands."""

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
        title: Name for people.
        state: How it stands.
        done: Bytes that are there and of use.
        total: Bytes of all files.
        bytes_s: Bytes a second, None while too little was seen.
        seconds_left: How long the rest takes, None when nobody knows.
        waiting: Why nothing comes at the moment: WAITING for a time at which it is in the queue again, or, for a
            moment, RUNNING. None without a reason.
        again_s: Whole seconds that it still waits, None without `waiting`.
        renewed: Whether the hub had what was looked at no more, so that what it has now is fetched.
        error: Why it failed.
        problem: What kind of failure that is; its value names the one thing to do.
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
    problem: Problem | None = None
