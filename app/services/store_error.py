"""What can go wrong with the chats on the disk, in words for the user."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from app.translate import tr
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StoreError(Exception):
    """The chats could not be read or written.

    Attributes:
        info: A sentence for the user.
        retryable: Whether the same call may succeed later, without any change to it.
    """

    def __init__(self, message: str, details: str = "", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.info = ErrorInfo(ErrorKind.STORAGE, message, details)
        self.retryable = retryable


def counted(number: int, one: str, many: str) -> str:
    """Return the words for one, or those for many with their gap "{count}" filled."""
    return one if number == 1 else many.format(count=number)


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn SQLite's and the system's errors about `folder` into `StoreError`s."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _explain(error, folder) from error


def _explain(error: apsw.Error | OSError, folder: Path) -> StoreError:
    details = repr(error)
    if isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free / 1e6
        return StoreError(
            tr(
                "The disk is full ({free} MB free), so your chats cannot be saved. Free some space; until then what "
                "you write is kept in memory only."
            ).format(free=f"{free:.0f}"),
            details,
            retryable=True,
        )
    if isinstance(error, apsw.BusyError):
        return StoreError(
            tr("MTPLX is already running and has your chats open. Use its window, or quit it first."),
            details,
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreError(
            tr(
                "The file of your chats is damaged. Restart MTPLX: it keeps the file and opens what can be read."
            ),
            details,
        )
    if isinstance(error, apsw.IOError | apsw.CantOpenError | apsw.ReadOnlyError | OSError):
        return StoreError(
            tr(
                "Your chats in {folder} cannot be read or written. Check that the disk is there and that you may "
                "write to this folder; until then what you write is kept in memory only."
            ).format(folder=folder),
            details,
            retryable=True,
        )
    return StoreError(tr("Your chats could not be saved. Restart MTPLX and try again."), details)
