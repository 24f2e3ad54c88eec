"""The file of the chat database: schema, migrations, and opening it, damaged or not."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw

from app.i18n import tr
from app.storage import recovery
from app.storage.errors import StoreError, counted, make_private
from app.storage.recovery import FOLDER, daily_copies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


NAME = "chats.db"
# Page cache of the chats and of the index: as fast on 100,000 messages as with SQLite's default of 2 MB each.
CACHE_KIB = 512

# Step n migrates a file from version n to n + 1. A released step is never edited.
# No CHECK and no key on parent_id: an odd value must cost its record only, not the whole file, and a message whose
# parent could not be saved must still be saved.
# `text` is the last column, so that reading the others never walks through long answers.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE chats (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        touched INTEGER NOT NULL,
        deleted_ms INTEGER
    ) STRICT;
    CREATE INDEX chats_by_use ON chats (touched);
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        chat_id TEXT NOT NULL REFERENCES chats (id),
        parent_id TEXT,
        role TEXT NOT NULL,
        status TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        model TEXT NOT NULL,
        stats TEXT,
        error TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX messages_by_chat ON messages (chat_id);
    """,
    """
    ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE chats ADD COLUMN leaf_id TEXT;
    ALTER TABLE chats ADD COLUMN settings TEXT;
    ALTER TABLE messages ADD COLUMN deleted_ms INTEGER;
    ALTER TABLE messages ADD COLUMN thought_ms INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE messages ADD COLUMN marks TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE messages ADD COLUMN sampler TEXT;
    ALTER TABLE messages ADD COLUMN thinking TEXT NOT NULL DEFAULT '';
    CREATE INDEX messages_by_parent ON messages (parent_id);
    CREATE INDEX messages_deleted ON messages (deleted_ms) WHERE deleted_ms IS NOT NULL;
    CREATE TABLE attachments (
        seq INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL,
        name TEXT NOT NULL,
        size INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX attachments_by_message ON attachments (message_id);
    CREATE TABLE drafts (
        seq INTEGER PRIMARY KEY,
        chat_id TEXT NOT NULL UNIQUE,
        text TEXT NOT NULL
    ) STRICT;
    """,
    # Statistics outlive the chats and do not refer to them. `day` is the proleptic Gregorian ordinal.
    """
    CREATE TABLE figures (
        seq INTEGER PRIMARY KEY,
        ended_ms INTEGER NOT NULL,
        day INTEGER NOT NULL,
        model TEXT NOT NULL,
        revision TEXT NOT NULL,
        quantization TEXT NOT NULL,
        speed_key TEXT NOT NULL,
        backend TEXT NOT NULL,
        chip TEXT NOT NULL,
        memory INTEGER NOT NULL,
        system TEXT NOT NULL,
        sampler TEXT NOT NULL,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        version TEXT NOT NULL,
        drafter TEXT NOT NULL,
        depth TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        emitted INTEGER NOT NULL,
        decode_tokens INTEGER NOT NULL,
        verify_steps INTEGER NOT NULL,
        plain_steps INTEGER NOT NULL,
        drafted INTEGER NOT NULL,
        accepted INTEGER NOT NULL,
        accepted_at TEXT NOT NULL,
        ttft_s REAL,
        prefill_s REAL,
        decode_s REAL
    ) STRICT;
    CREATE INDEX figures_by_day ON figures (day);
    """,
    # `kind` was a guess from the text of an answer.
    "ALTER TABLE figures DROP COLUMN kind",
)


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run the block in a transaction; it is on the disk when the block is left."""
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has already rolled back after some errors, such as a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def open_chats(folder: Path, now_ms: int) -> tuple[apsw.Connection, str]:
    """Open the chats in `folder`, which is made when it is missing, and is closed to other users.

    Returns:
        The connection, which locks the file until it is closed, and a sentence for the user when the file was damaged,
        else "".

    Raises:
        apsw.BusyError: Another process has it open.
        apsw.Error, OSError: It cannot be read or written.
        StoreError: A newer MTPLX wrote it; it is left unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    path = folder / NAME
    aside = None if path.exists() else _unfinished_rescue(folder)
    if aside is None:
        make_private(path)
        try:
            return _open_sound(path, now_ms), ""
        except (apsw.CorruptError, apsw.NotADBError):
            aside = _move_aside(path, now_ms)
    notice = _rescue(aside, path)
    return _open_sound(path, now_ms), notice


def _open_sound(path: Path, now_ms: int) -> apsw.Connection:
    connection = _connect(path)
    try:
        version = _supported_version(connection)
        _configure(connection)
        _check(connection)
        connection.pragma("journal_mode", "WAL")
        if 0 < version < len(MIGRATIONS):
            _copy(connection, path.with_name(f"chats.format{version}-{_stamp(now_ms)}.db"))
        _migrate(connection, len(MIGRATIONS))
    except BaseException:
        _forbid_checkpoint(connection)
        connection.close()
        raise
    return connection


def _rescue(aside: Path, path: Path) -> str:
    """Make the file at `path` from the readable records of the damaged `aside`; it appears when complete."""
    unfinished = path.with_name("chats.rescue.unfinished")
    for leftover in (unfinished, unfinished.with_name(f"{unfinished.name}-journal")):
        leftover.unlink(missing_ok=True)
    make_private(unfinished)
    with closing(_connect(unfinished)) as fresh, closing(_connect(aside)) as damaged:
        _forbid_checkpoint(damaged)
        _configure(fresh)
        # A message may lack its chat, which is made at the end.
        fresh.pragma("foreign_keys", 0)
        _migrate(fresh, recovery.database_version(damaged, len(MIGRATIONS)))
        with transaction(fresh), _newest_copy(path.parent) as copy:
            saved = recovery.copy_readable(damaged, copy, fresh)
    unfinished.rename(path)
    found = tr("{messages} in {chats} could be read and are here").format(
        messages=counted(saved.messages, tr("1 message"), tr("{count} messages")),
        chats=counted(saved.chats, tr("1 chat"), tr("{count} chats")),
    )
    if saved.from_copy:
        found += tr(", {count} of them from the last daily copy").format(count=saved.from_copy)
    return tr("The file of your chats was damaged: {found}. The damaged file is kept as {name}.").format(
        found=found if saved.chats else tr("nothing in it could be read"), name=aside.name
    )


@contextmanager
def _newest_copy(folder: Path) -> Iterator[apsw.Connection | None]:
    path = max(daily_copies(folder / FOLDER), default=None)
    if path is None:
        yield None
    else:
        with closing(_connect(path)) as connection:
            yield connection


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("locking_mode", "EXCLUSIVE")
    return connection


def _configure(connection: apsw.Connection) -> None:
    """Make commits durable and distrust the file's content; changes nothing in the file."""
    connection.pragma("synchronous", "FULL")
    # fsync on macOS leaves the data in the drive's cache.
    connection.pragma("fullfsync", 1)
    connection.pragma("foreign_keys", 1)
    connection.pragma("trusted_schema", 0)
    connection.pragma("cell_size_check", 1)
    connection.pragma("cache_size", -CACHE_KIB)


def _migrate(connection: apsw.Connection, version: int) -> None:
    """Migrate the file to `version`, one transaction for each step."""
    for number in range(connection.pragma("user_version"), version):
        with transaction(connection):
            connection.execute(MIGRATIONS[number])
            connection.pragma("user_version", number + 1)


def _supported_version(connection: apsw.Connection) -> int:
    version: int = connection.pragma("user_version")
    if version < 0:
        raise apsw.CorruptError(f"format {version}")
    if version > len(MIGRATIONS):
        raise StoreError(
            tr(
                "These chats were saved by a newer MTPLX (format {version}; this one reads up to {newest}). Nothing "
                "was changed: install the newest MTPLX to open them."
            ).format(version=version, newest=len(MIGRATIONS))
        )
    return version


def _check(connection: apsw.Connection) -> None:
    found = connection.pragma("quick_check", 1)
    if found != "ok":
        raise apsw.CorruptError(found)


def _forbid_checkpoint(connection: apsw.Connection) -> None:
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def _copy(connection: apsw.Connection, target: Path) -> None:
    unfinished = target.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    make_private(unfinished)
    connection.execute("VACUUM INTO ?", (str(unfinished),))
    # SQLite does not sync what VACUUM INTO writes.
    descriptor = os.open(unfinished, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    unfinished.replace(target)


def _move_aside(path: Path, now_ms: int) -> Path:
    aside = path.with_name(f"chats.damaged-{_stamp(now_ms)}.db")
    while aside.exists():
        now_ms += 1000
        aside = path.with_name(f"chats.damaged-{_stamp(now_ms)}.db")
    # The database last: while it is there, the next start repeats all of this.
    for suffix in ("-wal", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def _unfinished_rescue(folder: Path) -> Path | None:
    return max(folder.glob("chats.damaged-*.db"), default=None)


def _stamp(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H%M%S")
