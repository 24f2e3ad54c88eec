"""What can still be read of a damaged chats file, copied record by record into a fresh one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import apsw

# Where the last record is cannot be asked of a file whose end may be what is damaged.
_GAP = 20_000
_UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError)


@dataclass(frozen=True, slots=True)
class Saved:
    """How many records there are now, and how many of the messages only the copy had."""

    chats: int
    messages: int
    from_copy: int


def version(damaged: apsw.Connection, latest: int) -> int:
    """Return the format of the damaged file; `latest` when it is not known."""
    try:
        found: int = damaged.pragma("user_version")
    except _UNREADABLE:
        return latest
    return found if 0 < found <= latest else latest


def copy_readable(damaged: apsw.Connection, copy: apsw.Connection | None, fresh: apsw.Connection) -> Saved:
    """Copy every record that can be read, and those that are lost from an older copy.

    Args:
        damaged: The damaged file.
        copy: An older copy of it, if there is one; used when it is of the same format.
        fresh: A new file of the format of the damaged one, empty.
    """
    # Otherwise a file that ends too early is refused as a whole. Nothing is written to it all the same.
    damaged.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    _copy_tables(damaged, fresh)
    readable = _count(fresh, "messages")
    # A record that both have is the newer one already: both know it by the same number.
    format_number = fresh.pragma("user_version")
    if copy is not None and version(copy, format_number) == format_number:
        # What was sent since, and a history that was deleted, must not come back.
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
    # In the order in which they were made.
    tables = fresh.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
    for (table,) in tables:
        if table not in leave_out:
            _copy(source, fresh, str(table))


def _copy(damaged: apsw.Connection, fresh: apsw.Connection, table: str) -> None:
    columns = [row[1] for row in fresh.execute(f"PRAGMA table_info({table})")]
    # As bytes, since damaged text may be no str; the STRICT columns turn digits into numbers again.
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
