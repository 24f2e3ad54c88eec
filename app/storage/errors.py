"""Errors of the store as sentences, private files, and lenient reading of stored JSON."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import typing
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from app.i18n import tr
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.util import files, formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_T = TypeVar("_T")
# Raised by `files.build` and the checks of dataclasses for values that do not fit.
_MISFITS = (ValueError, TypeError, EngineError, RecursionError)


class StoreError(Exception):
    """The chats could not be read or written; `retryable` when the same call may succeed later."""

    def __init__(self, message: str, details: str = "", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.info = ErrorInfo(ErrorKind.STORAGE, message, details)
        self.retryable = retryable


def counted(number: int, one: str, many: str) -> str:
    """Return the text for one, or the one for many with its placeholder "{count}" filled."""
    return one if number == 1 else many.format(count=number)


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system about `folder` into `StoreError`s."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _explain(error, folder) from error


def _explain(error: apsw.Error | OSError, folder: Path) -> StoreError:
    details = repr(error)
    if isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = formatting.size(shutil.disk_usage(there).free)
        return StoreError(
            tr(
                "The disk is full ({free} free), so your chats cannot be saved. Free some space; until then what "
                "you write is kept in memory only."
            ).format(free=free),
            details,
            retryable=True,
        )
    if isinstance(error, apsw.BusyError):
        return StoreError(
            tr("MTPLX is already running and has your chats open. Use its window, or quit it first."), details
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreError(
            tr("The file of your chats is damaged. Restart MTPLX: it keeps the file and opens what can be read."),
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


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, or restrict an existing one to its owner.

    An existing file is not opened: closing it would drop the locks of this process on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        path.chmod(0o600)


def parsed(stored: bytes | str | None) -> Any:
    """Return the value of a JSON text; None when it is not valid."""
    try:
        return None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        return None


def built(hint: Any, value: Any) -> Any:
    """Return a JSON value as one of the type `hint`; None when it does not fit."""
    try:
        return files.build(hint, value)
    except _MISFITS:
        return None


def overlaid(default: _T, body: Any, misfit: Callable[[str, Exception], None] | None = None) -> _T:
    """Return the dataclass `default` with the fields of the JSON value `body` that fit.

    `misfit` is called with the name and the error of each field that does not.
    """
    result: Any = default
    for name, hint in typing.get_type_hints(type(default)).items():
        if isinstance(body, dict) and name in body:
            try:
                result = dataclasses.replace(result, **{name: files.build(hint, body[name])})
            except _MISFITS as error:
                if misfit is not None:
                    misfit(name, error)
    return typing.cast("_T", result)
