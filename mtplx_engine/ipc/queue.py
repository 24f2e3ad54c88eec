"""FIFO of engine commands with cancellation, and a single-slot mailbox for the latest value. Both are thread-safe."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mtplx_engine.ipc.protocol import CheckExactness, Generate, Load, Measure, Unload

Numbered = Generate | Measure | CheckExactness
"""The commands with a `generation`, by which they can be cancelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A command for the engine thread, and the event that cancels it."""

    command: Load | Unload | Numbered
    cancelled: threading.Event = field(default_factory=threading.Event)


class CommandQueue:
    """Queued jobs in order of arrival, and the current one. One thread adds and cancels, another takes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._closed = False

    def take(self) -> Job | None:
        """Wait for the next job and make it the current one; None once the queue is closed."""
        with self._changed:
            self._current = None
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._closed:
                self._current = self._waiting.popleft()
            return self._current

    def add(self, command: Numbered) -> None:
        with self._changed:
            self._waiting.append(Job(command))
            self._changed.notify()

    def add_load(self, command: Load) -> list[Job]:
        """Queue a load, in place of one that has not finished; return the queued loads that it ends.

        Jobs that wait for the replaced model then run with the new one.
        """
        with self._changed:
            loading = self._current is not None and isinstance(self._current.command, Load)
            loads = [n for n, job in enumerate(self._waiting) if isinstance(job.command, Load)]
            index = 0 if loading else min(loads, default=len(self._waiting))
            ended = self._end_loads()
            self._waiting.insert(index, Job(command))
            self._changed.notify()
            return ended

    def add_unload(self, command: Unload) -> list[Job]:
        """Append an unload and end every unfinished load; return the queued loads that it ends."""
        with self._changed:
            ended = self._end_loads()
            self._waiting.append(Job(command))
            self._changed.notify()
            return ended

    def cancel(self, generation: int) -> Job | None:
        """Cancel the job with this id; return it when it was still queued, which ends it."""
        with self._changed:
            for job in [*self._waiting, self._current]:
                if job and isinstance(job.command, Numbered) and job.command.generation == generation:
                    job.cancelled.set()
                    if job is not self._current:
                        self._waiting.remove(job)
                        return job
            return None

    def close(self) -> None:
        """Cancel everything; `take` returns None from now on."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            if self._current:
                self._current.cancelled.set()
            self._changed.notify()

    def _end_loads(self) -> list[Job]:
        if self._current and isinstance(self._current.command, Load):
            self._current.cancelled.set()
        ended = [job for job in self._waiting if isinstance(job.command, Load)]
        for job in ended:
            self._waiting.remove(job)
        return ended


T = TypeVar("T")


class Mailbox(Generic[T]):
    """Single slot that passes the newest value from one thread to another; values not yet taken are replaced."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._value: T | None = None
        self._closed = False

    def put(self, value: T) -> None:
        with self._changed:
            self._value = value
            self._changed.notify()

    def take(self) -> T | None:
        """Wait for a value and take it; None once the mailbox is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._value is not None or self._closed)
            value, self._value = self._value, None
            return None if self._closed else value

    def close(self) -> None:
        """Make `take` return None from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify()
