"""A few threads that do jobs in order, for one thread that waits for what they bring."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable


class Crew:
    """Threads that live as long as the `with` block, and stop taking jobs when one of them has failed.

    Args:
        jobs: What is to be done, in this order.
        threads: How many at a time.
    """

    def __init__(self, jobs: deque[Callable[[], None]], threads: int) -> None:
        self._jobs = jobs
        self._news = threading.Condition()
        self._error: BaseException | None = None
        count = min(threads, len(jobs))
        self._threads = [
            threading.Thread(target=self._work, name="download", daemon=True) for _ in range(count)
        ]
        self._working = count

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the jobs that were begun."""
        self._jobs.clear()
        for thread in self._threads:
            thread.join()

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until something is there.

        Raises:
            BaseException: What a job raised; without it, what is waited for may never come.
        """
        with self._news:
            while not is_done():
                if self._error is not None:
                    raise self._error
                if not self._working:
                    raise RuntimeError("all jobs are done, and it is not there")
                self._news.wait()

    def _work(self) -> None:
        try:
            while self._error is None and self._jobs:
                try:
                    job = self._jobs.popleft()
                except IndexError:
                    break  # another thread was faster
                job()
                with self._news:
                    self._news.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self._error = self._error or error
        finally:
            with self._news:
                self._working -= 1
                self._news.notify_all()
