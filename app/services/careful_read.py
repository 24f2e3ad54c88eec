"""Queries on a file that may be damaged: one bad record costs only itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable

# Text that is not UTF-8, a role or status that does not exist, a page that is damaged.
_UNREADABLE = (ValueError, apsw.CorruptError)

_T = TypeVar("_T")


def read_row(connection: apsw.Connection, select: str, key: str) -> tuple[Any, ...] | None:
    """Return the row of a query; None when there is none, or it cannot be read."""
    try:
        row: tuple[Any, ...] | None = connection.execute(select, (key,)).fetchone()
    except _UNREADABLE:
        return None
    return row


def read_rows(
    connection: apsw.Connection,
    table: str,
    select: str,
    where: str,
    convert: Callable[[Any], _T],
    *values: str,
) -> tuple[tuple[_T, ...], int]:
    """Return the rows that can be read and converted, and the number of those that cannot."""
    try:
        return tuple(convert(row) for row in connection.execute(f"{select} {where}", values)), 0
    except _UNREADABLE:
        pass
    # One bad record ends a query; each for itself costs only that one.
    found, unreadable = [], 0
    keys = [seq for (seq,) in connection.execute(f"SELECT seq FROM {table} {where}", values)]  # noqa: S608
    for seq in keys:
        try:
            found.append(convert(connection.execute(f"{select} WHERE seq = ?", (seq,)).fetchone()))
        except _UNREADABLE:
            unreadable += 1
    return tuple(found), unreadable
