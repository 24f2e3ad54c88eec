"""Writing files so that a crash or a power cut leaves the old content or the new one, never a mixture."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
