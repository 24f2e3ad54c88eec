"""Rescue of a damaged database file, and the daily backup of an intact one."""

from __future__ import annotations

import logging
import re
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import apsw

from app.storage.errors import make_private
from mtplx_engine.util import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# Keys without a record after which a table ends: the last key cannot be queried where the end may be damaged.
_GAP = 20_000
_UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError)


@dataclass(frozen=True, slots=True)
class Saved:
    """Number of rescued records, and of the messages that came from the backup only."""

    chats: int
    messages: int
    from_copy: int


def database_version(damaged: apsw.Connection, latest: int) -> int:
    """Return the format of the damaged file; `latest` when it is unreadable."""
    try:
        found: int = damaged.pragma("user_version")
    except _UNREADABLE:
        return latest
    return found if 0 < found <= latest else latest


def copy_readable(damaged: apsw.Connection, copy: apsw.Connection | None, fresh: apsw.Connection) -> Saved:
    """Copy every readable record of a damaged file to an empty one of the same format.

    What is lost in it comes from `copy`, an older copy, if that has the same format.
    """
    # Otherwise a truncated file is refused as a whole; nothing is written to it nevertheless.
    damaged.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    _copy_tables(damaged, fresh)
    readable = _count(fresh, "messages")
    # A record in both is already there in its newer version, under the same key.
    format_number = fresh.pragma("user_version")
    if copy is not None and database_version(copy, format_number) == format_number:
        # Drafts sent since, and deleted statistics, must not come back.
        _copy_tables(copy, fresh, leave_out=("drafts", "figures"))
    fresh.execute("""
        INSERT INTO chats (id, title, created_ms, updated_ms, touched)
        SELECT chat_id, 'Rescued chat', min(created_ms), max(created_ms), max(seq) FROM messages
        WHERE chat_id NOT IN (SELECT id FROM chats) GROUP BY chat_id
    """)
    messages = _count(fresh, "messages")
    return Saved(_count(fresh, "chats"), messages, messages - readable)


def _count(fresh: apsw.Connection, table: str) -> int:
    ((number,),) = fresh.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
    return int(number)


def _copy_tables(source: apsw.Connection, fresh: apsw.Connection, leave_out: tuple[str, ...] = ()) -> None:
    # In the order of creation.
    tables = fresh.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
    for (table,) in tables:
        if table not in leave_out:
            _copy(source, fresh, str(table))


def _copy(damaged: apsw.Connection, fresh: apsw.Connection, table: str) -> None:
    columns = [row[1] for row in fresh.execute(f"PRAGMA table_info({table})")]
    # As bytes, since damaged text may not be UTF-8; STRICT columns convert digits to numbers again.
    read = f"SELECT {', '.join(f'CAST({name} AS BLOB)' for name in columns)} FROM {table} WHERE seq = ?"  # noqa: S608
    write = f"INSERT INTO {table} VALUES ({', '.join(['CAST(? AS TEXT)'] * len(columns))})"  # noqa: S608
    seq, last_found = 0, 0
    while seq - last_found < _GAP:
        seq += 1
        row = _readable(damaged, read, seq)
        if row is None:
            continue
        last_found = seq
        with suppress(apsw.ConstraintError):
            fresh.execute(write, row)


def _readable(damaged: apsw.Connection, read: str, seq: int) -> tuple[apsw.SQLiteValue, ...] | None:
    try:
        row: tuple[apsw.SQLiteValue, ...] | None = damaged.execute(read, (seq,)).fetchone()
    except _UNREADABLE:
        return None
    return row


FOLDER: Final = "backups"
KEPT: Final = 7
DAY_S: Final = 24 * 3600.0
FIRST_S: Final = 5.0  # after the start
LOOK_S: Final = 3600.0
_NAME: Final = re.compile(r"chats\.\d{4}-\d{2}-\d{2}T\d{6}\.db")
_FILE: Final = "chats.%Y-%m-%dT%H%M%S.db"
_UNFINISHED: Final = "chats.unfinished"
_PAGES: Final = 256  # at a time: 1 MB, a few milliseconds
_log = logging.getLogger(__name__)


class DailyBackup:
    """Copies the database once a day into a folder beside it, and keeps the last copies.

    The file is read only through its owner's connection, on whose thread all methods are called; a copy is checked on
    a thread of its own.
    """

    def __init__(self, connection: apsw.Connection, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Prepare copies of the open database in `folder`; `clock` gives the wall clock in seconds since 1970."""
        self._connection = connection
        self._folder = folder / FOLDER
        self._clock = clock
        self._next_look = clock() + FIRST_S
        self._copying: tuple[apsw.Connection, apsw.Backup] | None = None
        self._check: _Check | None = None

    def due_in(self) -> float:
        """Return the seconds until `work` is due."""
        if self._copying:
            return 0.0
        if self._check:
            return 0.1
        # A clock that was put back, or a Mac that slept, must not stop the copies.
        return min(max(0.0, self._next_look - self._clock()), LOOK_S)

    def work(self) -> None:
        """Do the next small step of a due backup; a failed backup is retried in an hour."""
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
        """Return whether a day has passed; never for an empty file, whose copies would displace those with content."""
        ((filled,),) = self._connection.execute("SELECT EXISTS (SELECT 1 FROM messages)")
        newest = max(daily_copies(self._folder), default=None)
        # A copy from the future shows that the clock was set back.
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
        """Add an intact copy to the others, and delete the oldest."""
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
        for old in sorted(daily_copies(self._folder))[:-KEPT]:
            old.unlink()


class _Check(threading.Thread):
    """Checks a copy; `found` becomes "ok" or the fault."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="backup check")
        self._path = path
        self._connection: apsw.Connection | None = None
        self._stopped = False
        self.found = ""
        self.start()

    def run(self) -> None:
        try:
            files.sync(self._path)
            with closing(apsw.Connection(str(self._path))) as self._connection:
                if not self._stopped:
                    self.found = str(self._connection.pragma("quick_check", 1))
        except (apsw.Error, OSError) as error:
            self.found = repr(error)

    def stop(self) -> None:
        self._stopped = True
        with suppress(apsw.ConnectionClosedError, AttributeError):
            self._connection.interrupt()  # type: ignore[union-attr]
        self.join()


def daily_copies(folder: Path) -> list[Path]:
    """Return the checked copies in a folder, unordered."""
    return [path for path in folder.glob("chats.*.db") if _NAME.fullmatch(path.name)]


def _made_at(copy: Path) -> float:
    return datetime.strptime(copy.name, _FILE).replace(tzinfo=UTC).timestamp()
