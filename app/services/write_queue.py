"""Writes in the order of the calls: kept until they have succeeded, and answers in progress at most once a second."""

from __future__ import annotations

import time
import traceback
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from app.services.store_error import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.services.chat_database import ChatDatabase
    from mtplx_engine.errors import ErrorInfo

FLUSH_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Write:
    """One change. `message_id` is the message whose whole state it holds, "" when it is about a chat."""

    message_id: str
    run: Callable[[ChatDatabase], None]


class WriteQueue:
    """Brings writes to the database. Knows no threads: all calls come from the one that owns the database.

    A write that fails because the disk is full or away stays in line, with all that follow it, and is tried again;
    one that can never succeed is dropped. Either way `failed` is called, and not again while it waits.
    """

    def __init__(
        self,
        database: ChatDatabase,
        committed: Callable[[str], None],
        failed: Callable[[ErrorInfo, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to `database`.

        Args:
            database: Open, and written to by nobody else.
            committed: Called with the id of each message when it is on the disk.
            failed: Called with the reason and the message's id ("" for a chat).
            clock: Seconds; never goes back.
        """
        self._database = database
        self._committed = committed
        self._failed = failed
        self._clock = clock
        self._line: deque[Write] = deque()
        self._progress: dict[str, str] = {}
        self._told: set[str] = set()
        self._last_flush = clock() - FLUSH_S

    def write(self, write: Write) -> None:
        """Do `write` now, after those that still wait."""
        self._progress.pop(write.message_id, None)
        self._told.discard(write.message_id)
        self._line.append(write)
        error = self._drain()
        if error is not None:
            self._failed(error, write.message_id)

    def progress(self, message_id: str, text: str) -> None:
        """Note what there is of an answer; it is written when a second has passed since the last time."""
        self._progress[message_id] = text
        self.tick()

    def due_in(self) -> float | None:
        """Return in how many seconds `tick` wants to be called; None when nothing waits."""
        if not self._line and not self._progress:
            return None
        return max(0.0, self._last_flush + FLUSH_S - self._clock())

    def tick(self) -> None:
        """Write what waits, when it is time."""
        if self.due_in() == 0:
            self.flush()

    def flush(self) -> None:
        """Write everything that waits now."""
        self._last_flush = self._clock()
        if self._drain() is not None:
            return
        for message_id, text in list(self._progress.items()):
            error = _attempt(partial(self._database.flush_answer, message_id, text))
            if error is None or not error.retryable:
                del self._progress[message_id]
            if error is None:
                self._told.discard(message_id)
            elif message_id not in self._told:
                self._told.add(message_id)
                self._failed(error.info, message_id)

    def _drain(self) -> ErrorInfo | None:
        """Write what stands in line; return why the first one cannot be written yet, if so."""
        while self._line:
            write = self._line[0]
            error = _attempt(partial(write.run, self._database))
            if error is not None and error.retryable:
                return error.info
            self._line.popleft()
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
            "This could not be saved because of a fault in MTPLX. Copy your text and restart MTPLX.",
            traceback.format_exc(),
        )
    return None
