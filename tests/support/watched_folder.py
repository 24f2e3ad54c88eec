"""A folder of which every opened file is noticed, whoever opens it: Python, Qt or a library."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


_OPENED = 0x20
_READ = 0x1
_EVENT = struct.Struct("iIII")


class WatchedFolder:
    """Uses the kernel's own notices (inotify), so Linux only."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(os.O_NONBLOCK)
        if self._watch < 0 or self._libc.inotify_add_watch(self._watch, bytes(folder), _OPENED | _READ) < 0:
            raise OSError(ctypes.get_errno(), "the folder cannot be watched")

    def opened(self) -> list[str]:
        """Return the names of the files that were opened or read since the last call."""
        try:
            data = os.read(self._watch, 65536)
        except BlockingIOError:
            return []
        names = []
        while data:
            *_, length = _EVENT.unpack_from(data)
            names.append(data[_EVENT.size : _EVENT.size + length].rstrip(b"\0").decode())
            data = data[_EVENT.size + length :]
        return names

    def close(self) -> None:
        """Watch no longer."""
        os.close(self._watch)
