"""Writes in the order of the calls, kept until they have succeeded; of what grows, at most one a second."""

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
    """One change.

    Attributes:
        message_id: The message that it is about, "" when it is about a chat.
        run: Makes the change.
        key: It stands for all earlier ones of the same key that still wait for their second; "" for `message_id`.
    """

    message_id: str
    run: Callable[[ChatDatabase], None]
    key: str = ""

    @property
    def about(self) -> str:
        """What it is the latest state of."""
        return self.key or self.message_id


class WriteQueue:
    """Brings writes to the database. Knows no threads: all calls come from the one that owns the database.

    A write that fails because the disk is full or away stays in line, with all that follow it, and is tried again;
    one that can never succeed is dropped. Either way `failed` is called, and not again while it waits.

    Attributes:
        done: How many calls of `write` wait no longer, from the first one on.
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
        self._growing: dict[str, Write] = {}
        self._told: set[str] = set()
        self.done = 0
        self._last_flush = clock() - FLUSH_S

    @property
    def waiting(self) -> int:
        """How many changes are not on the disk."""
        return len(self._line) + len(self._growing)

    def write(self, write: Write) -> None:
        """Do `write` now, after those that still wait."""
        self._growing.pop(write.about, None)
        self._told.discard(write.about)
        self._line.append(write)
        error = self._drain()
        if error is not None:
            self._failed(error, write.message_id)

    def write_soon(self, write: Write) -> None:
        """Do `write` when a second has passed since the last of its kind, unless a later one takes its place."""
        self._growing[write.about] = write
        self.tick()

    def due_in(self) -> float | None:
        """Return in how many seconds `tick` wants to be called; None when nothing waits."""
        if not self._line and not self._growing:
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
        for about, write in list(self._growing.items()):
            error = _attempt(partial(write.run, self._database))
            if error is None or not error.retryable:
                del self._growing[about]
            if error is None:
                self._told.discard(about)
            elif about not in self._told:
                self._told.add(about)
                self._failed(error.info, write.message_id)

    def _drain(self) -> ErrorInfo | None:
        """Write what stands in line; return why the first one cannot be written yet, if so."""
        while self._line:
            write = self._line[0]
            error = _attempt(partial(write.run, self._database))
            if error is not None and error.retryable:
                return error.info
            self._line.popleft()
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
