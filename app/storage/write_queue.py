"""Queue of database writes: in order, retried until they succeed; growing answers are written once a second."""

from __future__ import annotations

import time
import traceback
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from app.i18n import tr
from app.storage.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.storage.database import ChatDatabase
    from mtplx_engine.errors import ErrorInfo


FLUSH_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Write:
    """One change; delayed, it replaces an earlier one of the same `key`. `message_id` is "" for a change of a chat."""

    message_id: str
    run: Callable[[ChatDatabase], None]
    key: str = ""

    @property
    def effective_key(self) -> str:
        """The key, by default the message id."""
        return self.key or self.message_id


class WriteQueue:
    """Brings writes to the database; all calls come from the thread that owns the database.

    A write that fails because the disk is full or missing stays in the queue with all that follow it, and is retried;
    one that can never succeed is dropped. Either way `failed` is called once.

    Attributes:
        done: How many calls of `write`, from the first one, no longer wait.
    """

    def __init__(
        self,
        database: ChatDatabase,
        committed: Callable[[str], None],
        failed: Callable[[ErrorInfo, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a queue for an open database that has no other writer.

        `committed` gets the id of each message when it is on the disk, `failed` the reason and the message's id ("" for
        a chat); `clock` gives monotonic seconds.
        """
        self._database = database
        self._committed = committed
        self._failed = failed
        self._clock = clock
        self._queue: deque[Write] = deque()
        self._delayed: dict[str, Write] = {}
        self._reported: set[str] = set()
        self.done = 0
        self._last_flush = clock() - FLUSH_S

    @property
    def waiting(self) -> int:
        """The number of changes that are not on the disk."""
        return len(self._queue) + len(self._delayed)

    def write(self, write: Write) -> None:
        """Write now, after the waiting ones."""
        self._delayed.pop(write.effective_key, None)
        self._reported.discard(write.effective_key)
        self._queue.append(write)
        error = self._drain()
        if error is not None:
            self._failed(error, write.message_id)

    def write_soon(self, write: Write) -> None:
        """Write within a second, unless a later write of the same key replaces it."""
        self._delayed[write.effective_key] = write
        self.tick()

    def due_in(self) -> float | None:
        """Return the seconds until `tick` is due; None when nothing waits."""
        if not self._queue and not self._delayed:
            return None
        return max(0.0, self._last_flush + FLUSH_S - self._clock())

    def tick(self) -> None:
        """Write the waiting changes when they are due."""
        if self.due_in() == 0:
            self.flush()

    def flush(self) -> None:
        self._last_flush = self._clock()
        if self._drain() is not None:
            return
        for key, write in list(self._delayed.items()):
            error = _attempt(partial(write.run, self._database))
            if error is None or not error.retryable:
                del self._delayed[key]
            if error is None:
                self._reported.discard(key)
            elif key not in self._reported:
                self._reported.add(key)
                self._failed(error.info, write.message_id)

    def _drain(self) -> ErrorInfo | None:
        """Write the queue; return the error of the first write that has to wait."""
        while self._queue:
            write = self._queue[0]
            error = _attempt(partial(write.run, self._database))
            if error is not None and error.retryable:
                return error.info
            self._queue.popleft()
            self.done += 1
            if error is not None:
                self._failed(error.info, write.message_id)
            elif write.message_id:
                self._committed(write.message_id)
        return None


def _attempt(run: Callable[[], None]) -> StoreError | None:
    try:
        run()
    except StoreError as error:
        return error
    except Exception:  # noqa: BLE001  a fault in one write must not take the others with it
        return StoreError(
            tr("This could not be saved because of a fault in MTPLX. Copy your text and restart MTPLX."),
            traceback.format_exc(),
        )
    return None
