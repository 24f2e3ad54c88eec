"""Files written atomically and durably, JSON read strictly into dataclasses, and a small JSON key-value store."""

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


_MAX_BYTES = 1 << 20
_MOST_KEPT = 500  # entries
_T = typing.TypeVar("_T")

# On macOS fsync leaves the data in the drive's own cache; this asks the drive to write it out.
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


def replace_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write `data` to `path` atomically: it holds either its former content or all of `data`.

    Its permissions are `mode`, less those of the umask.
    """
    with replaced(path, mode) as file:
        file.write(data)


@contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file whose content replaces that of `path` when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # left only by a failure, as on a full disk
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _FULL_SYNC is None:
            os.fsync(descriptor)
        else:
            fcntl.fcntl(descriptor, _FULL_SYNC)
    finally:
        os.close(descriptor)


def read_json(path: Path, most_bytes: int = _MAX_BYTES) -> Any:
    """Return the content of a JSON file.

    Raises OSError when it cannot be read, ValueError if it is longer than `most_bytes`, no JSON or nested too deeply.
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
    """Return the dataclass in a JSON file; its own checks may raise EngineError BAD_REQUEST.

    Raises OSError when the file cannot be read, ValueError when it is longer than `most_bytes`, or not of this class.
    """
    try:
        return typing.cast("_T", build(cls, read_json(path, most_bytes)))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path.name} holds no {cls.__name__}") from error


def write_json(path: Path, body: Any, *, indent: int | None = None, end: str = "", mode: int = 0o666) -> None:
    """Replace a JSON file as a whole, followed by the text `end`; its folder is created when missing.

    Raises OSError when it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(body, indent=indent) + end).encode(), mode)


class JsonStore:
    """JSON entries by key, in a small file that several processes may write.

    A file that is missing, damaged or of another version `format` counts as empty. An unreadable file is never
    overwritten: the first `put` renames it. Beyond `most_bytes` the oldest entries are dropped.
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
        """Return an entry, unchecked, None without one."""
        return self.all().get(key)

    def all(self) -> dict[str, Any]:
        """Return all entries by their keys, the oldest first."""
        return self._parse() or {}

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes whenever the file does; () while there is none."""
        try:
            state = self._path.stat()
        except OSError:
            return ()
        return state.st_ino, state.st_size, state.st_mtime_ns

    def drop(self, key: str) -> None:
        with contextlib.suppress(OSError), self._locked():
            entries = self.all()
            if entries.pop(key, None) is not None:
                self._write(entries)

    def put(self, key: str, entry: Any) -> None:
        """Store an entry; beyond the limits the oldest ones are dropped. An unwritable disk is ignored."""
        with contextlib.suppress(OSError), self._locked():
            entries = self._parse()
            if entries is None:
                self._set_aside()
                entries = {}
            entries.pop(key, None)
            self._write(dict([*entries.items(), (key, entry)][-_MOST_KEPT:]))

    def _write(self, entries: dict[str, Any]) -> None:
        while len(data := json.dumps({"format": self._format, "results": entries}).encode()) > self._most_bytes:
            entries = dict([*entries.items()][1:])
        replace_file(self._path, data)

    def _parse(self) -> dict[str, Any] | None:
        """Return the entries, None where there is a file that this version cannot read."""
        try:
            body = read_json(self._path, self._most_bytes)
            results = body["results"] if body["format"] == self._format else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return results if isinstance(results, dict) else None

    def _set_aside(self) -> None:
        """Rename the file, without replacing one that was renamed before."""
        numbers = itertools.count(1)
        names = (self._path.with_name(f"{self._path.name}.unreadable-{number}") for number in numbers)
        self._path.rename(next(name for name in names if not os.path.lexists(name)))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def build(hint: Any, value: Any) -> Any:
    """Convert parsed JSON strictly to a value of type `hint`; missing fields get their defaults.

    Raises ValueError or TypeError when it is not of that type; a dataclass may raise EngineError BAD_REQUEST.
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
        if not -sys.float_info.max <= value <= sys.float_info.max:  # false for NaN too
            raise ValueError(f"{value!r} is not a finite number")
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{value!r} is not {hint.__name__}")
    return value


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)
