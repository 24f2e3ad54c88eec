"""A copy of the chats each day, made page by page between other work, and checked before it counts."""

from __future__ import annotations

import logging
import re
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import apsw

from app.services.private_file import make_private
from mtplx_engine import durable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER: Final = "backups"
KEPT: Final = 7
DAY_S: Final = 24 * 3600.0
FIRST_S: Final = 5.0  # after the start, which has better things to do
LOOK_S: Final = 3600.0
_NAME: Final = re.compile(r"chats\.\d{4}-\d{2}-\d{2}T\d{6}\.db")
_FILE: Final = "chats.%Y-%m-%dT%H%M%S.db"
_UNFINISHED: Final = "chats.unfinished"
_PAGES: Final = 256  # at a time: 1 MB, a few milliseconds
_log = logging.getLogger(__name__)


class DailyBackup:
    """Keeps the last copies of a chats file in a folder beside it.

    The file is read only through its owner's connection, on whose thread everything here is called; the copy is
    checked on a thread of its own.
    """

    def __init__(
        self, connection: apsw.Connection, folder: Path, clock: Callable[[], float] = time.time
    ) -> None:
        """Prepare to copy.

        Args:
            connection: Has the chats open.
            folder: Where the chats are.
            clock: Wall clock in seconds since 1970.
        """
        self._connection = connection
        self._folder = folder / FOLDER
        self._clock = clock
        self._next_look = clock() + FIRST_S
        self._copying: tuple[apsw.Connection, apsw.Backup] | None = None
        self._check: _Check | None = None

    def due_in(self) -> float:
        """Return in how many seconds `work` wants to be called."""
        if self._copying:
            return 0.0
        if self._check:
            return 0.1
        # A clock that was put back, or a Mac that slept, must not stop the copies.
        return min(max(0.0, self._next_look - self._clock()), LOOK_S)

    def work(self) -> None:
        """Do a little of what is due; what fails is tried again in an hour."""
        if self.due_in() > 0 and not self._check:
            return
        try:
            if self._copying:
                self._copy_on(*self._copying)
            elif self._check:
                self._finish(self._check)
            elif self._is_due():
                self._begin()
            else:
                self._next_look = self._clock() + LOOK_S
        except (apsw.Error, OSError) as error:
            _log.warning("no copy of the chats was made: %r", error)
            self.close()
            self._next_look = self._clock() + LOOK_S

    def close(self) -> None:
        """Give up what is under way."""
        if self._copying:
            target, backup = self._copying
            self._copying = None
            with suppress(apsw.Error):
                backup.close(True)
            target.close()
        if self._check:
            self._check.stop()
            self._check = None

    def _is_due(self) -> bool:
        """Whether a day has passed; never for an empty file, which would push out copies of what was in it."""
        ((filled,),) = self._connection.execute("SELECT EXISTS (SELECT 1 FROM messages)")
        newest = max(copies(self._folder), default=None)
        # A copy from the future says that the clock was put back.
        return bool(filled) and (newest is None or not 0 <= self._clock() - _made_at(newest) < DAY_S)

    def _begin(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self._folder.chmod(0o700)
        unfinished = self._folder / _UNFINISHED
        for leftover in self._folder.glob(f"{_UNFINISHED}*"):
            leftover.unlink()
        make_private(unfinished)
        target = apsw.Connection(str(unfinished))
        self._copying = target, target.backup("main", self._connection, "main")

    def _copy_on(self, target: apsw.Connection, backup: apsw.Backup) -> None:
        backup.step(_PAGES)
        if backup.done:
            self._copying = None
            backup.finish()
            target.close()
            self._check = _Check(self._folder / _UNFINISHED)

    def _finish(self, check: _Check) -> None:
        """Let a copy that is good take its place among the others, and the oldest go."""
        if check.is_alive():
            return
        self._check = None
        if check.found != "ok":
            raise apsw.CorruptError(check.found)
        now = self._clock()
        name = datetime.fromtimestamp(now, UTC).strftime(_FILE)
        (self._folder / _UNFINISHED).replace(self._folder / name)
        self._next_look = now + LOOK_S
        # By their own age: a copy with a date in the future is the newest there is.
        for old in sorted(copies(self._folder))[:-KEPT]:
            old.unlink()


class _Check(threading.Thread):
    """Opens a copy and has it checked; `found` is "ok" or what is wrong with it."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="backup check")
        self._path = path
        self._connection: apsw.Connection | None = None
        self._stopped = False
        self.found = ""
        self.start()

    def run(self) -> None:
        """Check."""
        try:
            durable.sync(self._path)
            with closing(apsw.Connection(str(self._path))) as self._connection:
                if not self._stopped:
                    self.found = str(self._connection.pragma("quick_check", 1))
        except (apsw.Error, OSError) as error:
            self.found = repr(error)

    def stop(self) -> None:
        """End the check now."""
        self._stopped = True
        with suppress(apsw.ConnectionClosedError, AttributeError):
            self._connection.interrupt()  # type: ignore[union-attr]
        self.join()


def copies(folder: Path) -> list[Path]:
    """Return the copies in a folder that were checked, in no order."""
    return [path for path in folder.glob("chats.*.db") if _NAME.fullmatch(path.name)]


def _made_at(copy: Path) -> float:
    return datetime.strptime(copy.name, _FILE).replace(tzinfo=UTC).timestamp()
