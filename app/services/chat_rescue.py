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
    """How many records could be read."""

    chats: int
    messages: int


def version(damaged: apsw.Connection, latest: int) -> int:
    """Return the format of the damaged file; `latest` when it is not known."""
    try:
        found: int = damaged.pragma("user_version")
    except _UNREADABLE:
        return latest
    return found if 0 < found <= latest else latest


def copy_readable(damaged: apsw.Connection, fresh: apsw.Connection) -> Saved:
    """Copy every record that can be read; both files have the same format and `fresh` is empty."""
    # Otherwise a file that ends too early is refused as a whole. Nothing is written to it all the same.
    damaged.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    copied = {table: _copy(damaged, fresh, table) for table in _tables(fresh)}
    fresh.execute("""
        INSERT INTO chats (id, title, created_ms, updated_ms, touched)
        SELECT chat_id, 'Rescued chat', min(created_ms), max(created_ms), max(seq) FROM messages
        WHERE chat_id NOT IN (SELECT id FROM chats) GROUP BY chat_id
    """)
    return Saved(copied["chats"] + fresh.changes(), copied["messages"])


def _tables(fresh: apsw.Connection) -> list[str]:
    """Return the tables of this format in the order in which they were made, chats and messages first."""
    return [
        name
        for (name,) in fresh.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    ]


def _copy(damaged: apsw.Connection, fresh: apsw.Connection, table: str) -> int:
    columns = [row[1] for row in fresh.execute(f"PRAGMA table_info({table})")]
    # As bytes, since damaged text may be no str; the STRICT columns turn digits into numbers again.
    read = f"SELECT {', '.join(f'CAST({name} AS BLOB)' for name in columns)} FROM {table} WHERE seq = ?"  # noqa: S608
    write = f"INSERT INTO {table} VALUES ({', '.join(['CAST(? AS TEXT)'] * len(columns))})"  # noqa: S608
    copied, seq, last_found = 0, 0, 0
    while seq - last_found < _GAP:
        seq += 1
        row = _readable(damaged, read, seq)
        if row is None:
            continue
        last_found = seq
        with suppress(apsw.ConstraintError):
            fresh.execute(write, row)
            copied += 1
    return copied


def _readable(damaged: apsw.Connection, read: str, seq: int) -> tuple[apsw.SQLiteValue, ...] | None:
    try:
        row: tuple[apsw.SQLiteValue, ...] | None = damaged.execute(read, (seq,)).fetchone()
    except _UNREADABLE:
        return None
    return row
