"""Partly downloaded files: resumable segments and digests."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from mtplx_engine.util import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SEGMENT = 16 << 20

_HEAD = 1024  # bytes at the start of the note for what the file is, in JSON
_COUNT = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a partial file will be. Another one than that is no use.

    Attributes:
        size: Bytes of the whole file.
        digest: What its content must hash to, see `digest.Expected`.
        etag: The server's name for its content, "" as long as it is not known.
    """

    size: int
    digest: str
    etag: str = ""


class Partial:
    """The bytes of `path` so far, in segments that are filled from their starts, several at a time.

    A byte counts as there once its count is written, which follows the byte; so a kill costs no more than what one
    write of each thread holds. Thread-safe as long as one thread at a time writes into a segment.

    Attributes:
        identity: What the file will be.
        segments: How many segments it has.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open what there is of `path`, or begin anew when that is of another file.

        Raises:
            OSError: The disk cannot be read or written.
        """
        self._path = path
        self._data_path, self._note_path = _names(path)
        self._lock = threading.Lock()
        self.identity, self._counts = _read(path, identity)
        self.segments = len(self._counts)
        self._data = os.open(self._data_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._note = os.open(self._note_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._data, identity.size)
        self._write_note()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close both files; what there is stays."""
        for descriptor in (self._data, self._note):
            if descriptor >= 0:
                os.close(descriptor)
        self._data = self._note = -1

    @property
    def done(self) -> int:
        """Bytes that are there."""
        return sum(self._counts)

    def length(self, segment: int) -> int:
        """Return the bytes that a segment will have."""
        return min(SEGMENT, self.identity.size - segment * SEGMENT)

    def missing(self, segment: int) -> tuple[int, int]:
        """Return the first byte of a segment that is not there, and the one after its last byte."""
        start = segment * SEGMENT
        return start + self._counts[segment], start + self.length(segment)

    def is_full(self, segment: int) -> bool:
        """Whether all bytes of a segment are there."""
        return self._counts[segment] == self.length(segment)

    def first_missing(self) -> int:
        """Return the first byte of the file that is not there; its size when all are."""
        for segment in range(self.segments):
            if not self.is_full(segment):
                return self.missing(segment)[0]
        return self.identity.size

    def write(self, offset: int, data: memoryview) -> int:
        """Add bytes at `offset`; those that are there already are passed over.

        Returns:
            How many were new.

        Raises:
            ValueError: Bytes before them are missing, or they go beyond the end.
            OSError: The disk is full, or cannot be written, or somebody has deleted the file.
        """
        new = 0
        while data:
            segment = offset // SEGMENT
            here = data[: (segment + 1) * SEGMENT - offset]
            new += self._append(segment, offset, here)
            offset, data = offset + len(here), data[len(here) :]
        return new

    def _append(self, segment: int, offset: int, data: memoryview) -> int:
        start, end = self.missing(segment)
        if offset > start or offset + len(data) > end:
            raise ValueError(f"bytes {offset} to {offset + len(data)} do not follow what is there")
        if not os.fstat(self._data).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "deleted while it grows", str(self._data_path))
        data = data[start - offset :]
        new = len(data)
        while data:
            written = os.pwrite(self._data, data, start)
            start, data = start + written, data[written:]
        if new:
            self._counts[segment] += new
            os.pwrite(self._note, _COUNT.pack(self._counts[segment]), _HEAD + segment * _COUNT.size)
        return new

    def read(self, segment: int) -> bytes:
        """Return the bytes of a segment."""
        return os.pread(self._data, self.length(segment), segment * SEGMENT)

    def set_etag(self, etag: str) -> None:
        """Remember the server's name for the content."""
        with self._lock:
            self.identity = dataclasses.replace(self.identity, etag=etag)
            self._write_note()

    def restart(self) -> None:
        """Forget all bytes."""
        with self._lock:
            self.identity = dataclasses.replace(self.identity, etag="")
            self._counts = [0] * self.segments
            self._write_note()

    def keep(self) -> None:
        """Let the complete file take its name, for good.

        Raises:
            OSError: The disk did not take it.
        """
        self.close()
        files.sync(self._data_path)
        self._data_path.rename(self._path)
        files.sync(self._path.parent)
        self._note_path.unlink()

    def discard(self) -> None:
        """Delete what there is."""
        self.close()
        self._data_path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)

    def _write_note(self) -> None:
        head = json.dumps(dataclasses.asdict(self.identity)).encode().ljust(_HEAD)
        counts = b"".join(_COUNT.pack(count) for count in self._counts)
        # One write and never an empty note in between, since a kill may come at any point.
        os.pwrite(self._note, head + counts, 0)
        os.ftruncate(self._note, len(head) + len(counts))


def present(path: Path, wanted: Identity) -> int:
    """Return how many bytes of a file are there and of use."""
    return wanted.size if is_whole(path, wanted) else sum(_read(path, wanted)[1])


def is_whole(path: Path, wanted: Identity) -> bool:
    """Whether a file has its name, which it gets when its hash was found right."""
    return path.is_file() and path.stat().st_size == wanted.size


def is_growing(path: Path) -> bool:
    """Whether something of a file has arrived, of use or not."""
    return _names(path)[0].exists()


def delete(path: Path) -> None:
    """Delete a file, however much of it has arrived."""
    for part in (path, *_names(path)):
        part.unlink(missing_ok=True)


def _names(path: Path) -> tuple[Path, Path]:
    """Return where the bytes of a growing file are, and the note of which ones are there."""
    return path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.progress")


def _read(path: Path, wanted: Identity) -> tuple[Identity, list[int]]:
    """Return what is on the disk of a growing file and its bytes by segment, as far as they are of use for `wanted`."""
    segments = max(1, -(-wanted.size // SEGMENT))
    data_path, note_path = _names(path)
    fresh = (wanted, [0] * segments)
    try:
        note = note_path.read_bytes()
        known = Identity(**json.loads(note[:_HEAD]))
        counts = [count for (count,) in _COUNT.iter_unpack(note[_HEAD:])]
        size = data_path.stat().st_size
    except (OSError, ValueError, TypeError, struct.error, RecursionError):
        return fresh
    sound = (
        dataclasses.replace(known, etag="") == wanted
        and size == wanted.size
        and len(counts) == segments
        and all(0 <= count <= min(SEGMENT, wanted.size - i * SEGMENT) for i, count in enumerate(counts))
    )
    return (known, counts) if sound else fresh


_BLOCK = 4 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX = {"sha256": _SHA256, "git": re.compile(r"[0-9a-f]{40}"), "parts": _SHA256}


@dataclass(frozen=True, slots=True)
class Expected:
    """The hash that content must have.

    Attributes:
        kind: "sha256" of the content, which hubs know of large files; or "git", the id of the content as a git blob;
            or "parts", where it says which bytes of other files the content is, whose hash nobody knows.
        value: In hex.

    Raises:
        ValueError: It is no such hash.
    """

    kind: str
    value: str

    def __post_init__(self) -> None:
        if self.kind not in _HEX or not _HEX[self.kind].fullmatch(self.value):
            raise ValueError(f"{self.kind} {self.value!r} is no hash")

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    def hasher(self, size: int) -> Hasher:
        """Return what hashes content of `size` bytes."""
        return Hasher(self, size)

    def is_of(self, path: Path, check: Callable[[], None]) -> bool:
        """Whether a file has this hash, read from the start; never for "parts". `check` may raise something to stop."""
        if self.kind == "parts":
            return False
        hasher, block = self.hasher(path.stat().st_size), bytearray(_BLOCK)
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(block):
                check()
                hasher.update(bytes(memoryview(block)[:count]))
        return hasher.is_right()


class Hasher:
    """Hashes content that comes in order.

    The sha256 is always taken, since the manifest of an installed model notes it of every file.

    Attributes:
        sha256: Hex digest of what came so far.
    """

    def __init__(self, expected: Expected, size: int) -> None:
        self._expected: Final = expected
        self._sha256 = hashlib.sha256()
        # git ids are what the hub gives; nobody relies on them against an attacker
        self._git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        updates: list[Callable[[bytes], None]] = [self._sha256.update]
        if expected.kind == "git":
            updates.append(self._git.update)
        self._updates = tuple(updates)

    def update(self, data: bytes) -> None:
        """Take in the next bytes."""
        for update in self._updates:
            update(data)

    @property
    def sha256(self) -> str:
        """Hex digest of what came so far."""
        return self._sha256.hexdigest()

    def is_right(self) -> bool:
        """Whether all that came is what was expected, as far as a hash can tell."""
        if self._expected.kind == "parts":
            return True
        found = self.sha256 if self._expected.kind == "sha256" else self._git.hexdigest()
        return found == self._expected.value
