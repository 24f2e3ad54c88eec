"""Results that are worth keeping from one start to the next, in a small file that several processes may write."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
from typing import TYPE_CHECKING, Any

from mtplx_engine import durable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_BYTES = 1 << 20
_MOST_KEPT = 500


class KeptResults:
    """JSON entries by key; a file that is missing, damaged or of another format is an empty one.

    What cannot be read is never replaced: the first entry that is kept sets it aside under another name.

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
        durable.replace_file(self._path, data)

    def _read(self) -> dict[str, Any]:
        return self._parse() or {}

    def _parse(self) -> dict[str, Any] | None:
        """Return the entries, None where there is something that this version cannot read."""
        try:
            with self._path.open("rb") as file:
                body = json.loads(file.read(self._most_bytes))
            results = body["results"] if body["format"] == self._format else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
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
