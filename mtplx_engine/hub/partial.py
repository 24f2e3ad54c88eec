"""Partly downloaded files that can be resumed, and the hashes that they must have."""

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

_IDENTITY_BYTES = 1024  # bytes of the identity, in JSON, at the start of the progress file
_COUNT = struct.Struct("<q")

_HASH_BLOCK = 4 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HASHES = {"sha256": _SHA256, "git": re.compile(r"[0-9a-f]{40}"), "parts": _SHA256}


@dataclass(frozen=True, slots=True)
class Identity:
    """What a partial file will become; that of another identity is not resumed. Its ETag is "" while it is unknown."""

    size: int
    digest: str
    etag: str = ""


class Partial:
    """The bytes of `path` that have arrived, in segments that are filled from their starts, several at a time.

    A progress file counts the bytes of each segment, after they are written, so a kill costs at most one write of each
    thread. Thread-safe as long as one thread at a time writes into a segment.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open the partial file of `path`, or begin anew when it has another identity."""
        self._path = path
        self._data_path, self._progress_path = _names(path)
        self._lock = threading.Lock()
        self.identity, self._counts = _read(path, identity)
        self.segments = len(self._counts)
        self._data = os.open(self._data_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._progress = os.open(self._progress_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._data, identity.size)
        self._write_progress()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for descriptor in (self._data, self._progress):
            if descriptor >= 0:
                os.close(descriptor)
        self._data = self._progress = -1

    @property
    def done(self) -> int:
        """Bytes that have arrived."""
        return sum(self._counts)

    def length(self, segment: int) -> int:
        return min(SEGMENT, self.identity.size - segment * SEGMENT)

    def missing(self, segment: int) -> tuple[int, int]:
        """Return the offsets of the first missing byte of a segment and of its end."""
        start = segment * SEGMENT
        return start + self._counts[segment], start + self.length(segment)

    def is_full(self, segment: int) -> bool:
        return self._counts[segment] == self.length(segment)

    def first_missing(self) -> int:
        """Return the offset of the first missing byte, the file's size when it is complete."""
        for segment in range(self.segments):
            if not self.is_full(segment):
                return self.missing(segment)[0]
        return self.identity.size

    def write(self, offset: int, data: memoryview) -> int:
        """Write bytes at `offset`, skipping those that have arrived already; return how many were new.

        Raises:
            ValueError: Bytes before them are missing, or they exceed the file.
            OSError: The disk is full or not writable, or the partial file was deleted.
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
            raise ValueError(f"bytes {offset} to {offset + len(data)} do not follow those that are there")
        if not os.fstat(self._data).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "deleted while it grows", str(self._data_path))
        data = data[start - offset :]
        new = len(data)
        while data:
            written = os.pwrite(self._data, data, start)
            start, data = start + written, data[written:]
        if new:
            self._counts[segment] += new
            os.pwrite(self._progress, _COUNT.pack(self._counts[segment]), _IDENTITY_BYTES + segment * _COUNT.size)
        return new

    def read(self, segment: int) -> bytes:
        return os.pread(self._data, self.length(segment), segment * SEGMENT)

    def set_etag(self, etag: str) -> None:
        with self._lock:
            self.identity = dataclasses.replace(self.identity, etag=etag)
            self._write_progress()

    def restart(self) -> None:
        """Drop all bytes and the ETag."""
        with self._lock:
            self.identity = dataclasses.replace(self.identity, etag="")
            self._counts = [0] * self.segments
            self._write_progress()

    def keep(self) -> None:
        """Move the complete file to `path`, durably."""
        self.close()
        files.sync(self._data_path)
        self._data_path.rename(self._path)
        files.sync(self._path.parent)
        self._progress_path.unlink()

    def discard(self) -> None:
        self.close()
        self._data_path.unlink(missing_ok=True)
        self._progress_path.unlink(missing_ok=True)

    def _write_progress(self) -> None:
        head = json.dumps(dataclasses.asdict(self.identity)).encode().ljust(_IDENTITY_BYTES)
        counts = b"".join(_COUNT.pack(count) for count in self._counts)
        # One write and never an empty file in between, since a kill may come at any point.
        os.pwrite(self._progress, head + counts, 0)
        os.ftruncate(self._progress, len(head) + len(counts))


def present(path: Path, wanted: Identity) -> int:
    """Return how many valid bytes of a file are on the disk."""
    return wanted.size if is_whole(path, wanted) else sum(_read(path, wanted)[1])


def is_whole(path: Path, wanted: Identity) -> bool:
    """Whether a file is complete; it gets its name once its hash is verified."""
    return path.is_file() and path.stat().st_size == wanted.size


def is_growing(path: Path) -> bool:
    """Whether a file has a partial file, valid or not."""
    return _names(path)[0].exists()


def delete(path: Path) -> None:
    """Delete a file, partial or complete."""
    for part in (path, *_names(path)):
        part.unlink(missing_ok=True)


def _names(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.progress")


def _read(path: Path, wanted: Identity) -> tuple[Identity, list[int]]:
    """Return the identity of a partial file and its bytes by segment; none where it is not of `wanted`."""
    segments = max(1, -(-wanted.size // SEGMENT))
    data_path, progress_path = _names(path)
    fresh = (wanted, [0] * segments)
    try:
        progress = progress_path.read_bytes()
        known = Identity(**json.loads(progress[:_IDENTITY_BYTES]))
        counts = [count for (count,) in _COUNT.iter_unpack(progress[_IDENTITY_BYTES:])]
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


@dataclass(frozen=True, slots=True)
class Expected:
    """The hash that a file must have.

    Attributes:
        kind: "sha256" of the content, which hubs give for large files; "git", its id as a git blob; or "parts", a hash
            of the ranges of other files that it consists of, where the hash of the content is unknown.
        value: In hex.

    Raises:
        ValueError: The value is no hash of this kind.
    """

    kind: str
    value: str

    def __post_init__(self) -> None:
        if self.kind not in _HASHES or not _HASHES[self.kind].fullmatch(self.value):
            raise ValueError(f"{self.kind} {self.value!r} is no hash")

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    def hasher(self, size: int) -> Hasher:
        return Hasher(self, size)

    def is_of(self, path: Path, check: Callable[[], None]) -> bool:
        """Whether a file has this hash; never for "parts". `check` is called for each block and may raise to stop."""
        if self.kind == "parts":
            return False
        hasher, block = self.hasher(path.stat().st_size), bytearray(_HASH_BLOCK)
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(block):
                check()
                hasher.update(bytes(memoryview(block)[:count]))
        return hasher.is_right()


class Hasher:
    """Hashes content in order, always with sha256 too, which the manifest of an installed model holds."""

    def __init__(self, expected: Expected, size: int) -> None:
        self._expected: Final = expected
        self._sha256 = hashlib.sha256()
        # The hub gives only git ids for small files; they are no protection against an attacker.
        self._git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        updates: list[Callable[[bytes], None]] = [self._sha256.update]
        if expected.kind == "git":
            updates.append(self._git.update)
        self._updates = tuple(updates)

    def update(self, data: bytes) -> None:
        for update in self._updates:
            update(data)

    @property
    def sha256(self) -> str:
        """Hex digest of the content so far."""
        return self._sha256.hexdigest()

    def is_right(self) -> bool:
        """Whether the content has the expected hash; always for "parts"."""
        if self._expected.kind == "parts":
            return True
        found = self.sha256 if self._expected.kind == "sha256" else self._git.hexdigest()
        return found == self._expected.value
