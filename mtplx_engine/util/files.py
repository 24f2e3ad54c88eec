"""Write files atomically and durably, and keep small JSON documents under one lock."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import itertools
import json
import os
import sys
import types
import typing
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


# On macOS fsync leaves the data in the drive's own cache; this asks the drive to write it down.
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


def replace_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write `data` to `path`, which then holds either its former content or all of `data`.

    Args:
        path: The file.
        data: Its content.
        mode: Who may read and write it, as far as the umask lets them.
    """
    with replaced(path, mode) as file:
        file.write(data)


@contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Write what is too much to be held at once: `path` gets all of it when the block ends, or keeps what it had."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # left only by a failure, on a full disk for one
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the file, or the names in the folder, `path` are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _FULL_SYNC is None:
            os.fsync(descriptor)
        else:
            fcntl.fcntl(descriptor, _FULL_SYNC)
    finally:
        os.close(descriptor)


_MAX_BYTES = 1 << 20
_MOST_KEPT = 500
_LARGEST = sys.float_info.max
_T = typing.TypeVar("_T")


def read_json(path: Path, most_bytes: int = _MAX_BYTES) -> Any:
    """Return what is in a JSON file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is longer than `most_bytes`, no JSON, or nested too deeply.
    """
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"{path.name} has more than {most_bytes} bytes")
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError(f"{path.name} is nested too deeply") from error


def read_as(cls: type[_T], path: Path, most_bytes: int = _MAX_BYTES) -> _T:
    """Return the dataclass in a JSON file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is longer than `most_bytes`, or not of this class.
        EngineError: BAD_REQUEST, from a dataclass that checks its fields.
    """
    try:
        return typing.cast("_T", build(cls, read_json(path, most_bytes)))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path.name} holds no {cls.__name__}") from error


def write_json(path: Path, body: Any, *, indent: int | None = None, end: str = "", mode: int = 0o666) -> None:
    """Replace a JSON file as a whole; its folder is made where it is not there.

    Args:
        path: The file.
        body: What it is to hold.
        indent: Spaces for each level; None for one line.
        end: What follows the JSON.
        mode: Who may read and write it, as far as the umask lets them.

    Raises:
        OSError: The disk does not take it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(body, indent=indent) + end).encode(), mode)


class JsonStore:
    """JSON entries by key, in a small file that several processes may write.

    A file that is missing, damaged or of another format is an empty one. What cannot be read is never replaced: the
    first entry that is kept sets it aside under another name.

    Args:
        path: The file; its folder may not exist yet.
        format: The format of the entries, as a number.
        most_bytes: How long the file may be; the oldest entries go when it gets longer.
    """

    def __init__(
        self,
        path: Path,
        format: int,  # noqa: A002 - the name in the file
        most_bytes: int = _MAX_BYTES,
    ) -> None:
        self._path = path
        self._format = format
        self._most_bytes = most_bytes

    def get(self, key: str) -> Any | None:
        """Return an entry, as the file has it: whoever reads it checks it."""
        return self._read().get(key)

    def all(self) -> dict[str, Any]:
        """Return all entries by their keys, the oldest first."""
        return self._read()

    def stamp(self) -> tuple[int, ...]:
        """Return what changes whenever the file does; () while there is none."""
        try:
            state = self._path.stat()
        except OSError:
            return ()
        return state.st_ino, state.st_size, state.st_mtime_ns

    def drop(self, key: str) -> None:
        """Forget an entry."""
        with contextlib.suppress(OSError), self._alone():
            kept = self._read()
            if kept.pop(key, None) is not None:
                self._write(kept)

    def put(self, key: str, entry: Any) -> None:
        """Keep an entry; the oldest ones go. Where nothing can be written, it is forgotten with the process."""
        with contextlib.suppress(OSError), self._alone():
            kept = self._parse()
            if kept is None:
                self._set_aside()
                kept = {}
            kept.pop(key, None)
            self._write(dict([*kept.items(), (key, entry)][-_MOST_KEPT:]))

    def _write(self, results: dict[str, Any]) -> None:
        while (
            len(data := json.dumps({"format": self._format, "results": results}).encode()) > self._most_bytes
        ):
            results = dict([*results.items()][1:])
        replace_file(self._path, data)

    def _read(self) -> dict[str, Any]:
        return self._parse() or {}

    def _parse(self) -> dict[str, Any] | None:
        """Return the entries, None where there is something that this version cannot read."""
        try:
            body = read_json(self._path, self._most_bytes)
            results = body["results"] if body["format"] == self._format else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return results if isinstance(results, dict) else None

    def _set_aside(self) -> None:
        """Rename the file; the names of those that were set aside before stay taken."""
        numbers = itertools.count(1)
        names = (self._path.with_name(f"{self._path.name}.unreadable-{number}") for number in numbers)
        self._path.rename(next(name for name in names if not os.path.lexists(name)))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def build(hint: Any, value: Any) -> Any:
    """Make a value of type `hint` from parsed JSON, strictly; fields that are missing get their defaults.

    Raises:
        ValueError, TypeError: The JSON is not of that type.
        EngineError: BAD_REQUEST, from a dataclass that checks its fields.
    """
    if dataclasses.is_dataclass(hint):
        return _build_dataclass(typing.cast("type", hint), value)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _build_tuple(args, value)
    if origin in (types.UnionType, typing.Union):
        return _build_union(args, value)
    if origin is typing.Literal:
        if value not in args:
            raise ValueError(f"{value!r} is not one of {args}")
        return value
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return _build_scalar(hint, value)


def _build_dataclass(cls: type, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    hints = _hints(cls)
    unknown = value.keys() - hints.keys()
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return cls(**{name: build(hints[name], item) for name, item in value.items()})


def _build_tuple(args: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(build(args[0], item) for item in value)
    return tuple(build(arg, item) for arg, item in zip(args, value, strict=True))


def _build_union(args: tuple[Any, ...], value: Any) -> Any:
    for arg in args:
        try:
            return build(arg, value)
        except (ValueError, TypeError):
            continue
    raise ValueError(f"{value!r} fits none of {args}")


def _build_scalar(hint: Any, value: Any) -> Any:
    if hint is types.NoneType:
        if value is not None:
            raise ValueError(f"{value!r} is not null")
        return None
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not -_LARGEST <= value <= _LARGEST:  # false for NaN too
            raise ValueError(f"{value!r} is not a finite number")
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{value!r} is not {hint.__name__}")
    return value


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)
