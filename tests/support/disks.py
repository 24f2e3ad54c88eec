# ruff: noqa: N802  the methods have SQLite's names
"""Disks that fail on purpose, put under SQLite: one loses what was not synced, one is full."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


_SECTOR = 512
_SYSTEM = apsw.vfs_names()[0]
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes written at an offset of a file."""

    name: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut to a size."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Delete:
    """A file removed."""

    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything before it in this file is on the platter; with `folder`, removed files are so for good."""

    name: str
    folder: bool


Operation = Write | Truncate | Delete | Sync


class RecordingDisk(apsw.VFS):
    """Notes what SQLite does to files, while doing it; syncs are only noted. `operations` is the record."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        super().__init__("recording", _SYSTEM, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _RecordingFile(self.operations, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: FBT001
        super().xDelete(name, syncdir)
        self.operations.append(Delete(Path(name).name))
        if syncdir:
            self.operations.append(Sync(Path(name).name, folder=True))


class _RecordingFile(apsw.VFSFile):
    def __init__(self, operations: list[Operation], name: str | apsw.URIFilename | None, flags: list[int]):
        super().__init__(_SYSTEM, name, flags)
        self._operations = operations
        full = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(full or "temporary").name
        # SQLite syncs the folder when it first syncs a journal or a write-ahead log that it has made.
        self._folder_waits = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _JOURNALS)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._operations.append(Write(self._name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._operations.append(Truncate(self._name, size))

    def xSync(self, flags: int) -> None:
        self._operations.append(Sync(self._name, folder=self._folder_waits))
        self._folder_waits = False


class FullDisk(apsw.VFS):
    """Takes `room` more writes, then is full until `room` is raised. Does not sync, to be fast."""

    def __init__(self, room: int) -> None:
        self.room = room
        super().__init__("full", _SYSTEM, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _FullFile(self, name, flags)


class _FullFile(apsw.VFSFile):
    def __init__(self, disk: FullDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(_SYSTEM, name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._disk.room <= 0:
            raise apsw.FullError("no space left on the test's disk")
        self._disk.room -= 1
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        pass


@contextmanager
def recording_disk() -> Iterator[RecordingDisk]:
    """Put a recording disk under all connections that are opened in the block."""
    disk = RecordingDisk()
    try:
        yield disk
    finally:
        disk.unregister()


@contextmanager
def full_disk(room: int) -> Iterator[FullDisk]:
    """Put a disk with room for so many writes under all connections that are opened in the block."""
    disk = FullDisk(room)
    try:
        yield disk
    finally:
        disk.unregister()


@dataclass(slots=True)
class _File:
    durable: bytearray | None = None
    pending: list[Operation] = field(default_factory=list)

    def settle(self, number: int) -> None:
        """Make the first `number` pending operations durable."""
        for operation in self.pending[:number]:
            self.durable = _applied(self.durable, operation)
        del self.pending[:number]


class Platter:
    """What is certainly on a disk, and what may or may not be, as a record of operations is played."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = {name: _File(bytearray(data)) for name, data in files.items()}

    def play(self, operation: Operation) -> None:
        """Let one more operation happen."""
        file = self._files.setdefault(operation.name, _File())
        if not isinstance(operation, Sync):
            file.pending.append(operation)
            return
        file.settle(len(file.pending))
        for other in self._files.values() if operation.folder else ():
            removals = [index for index, each in enumerate(other.pending) if isinstance(each, Delete)]
            other.settle(removals[-1] + 1 if removals else 0)

    def cut(self, folder: Path, chance: random.Random) -> None:
        """Write to `folder` what a power cut now might leave: any part of what was not synced, torn in sectors."""
        for name, file in self._files.items():
            data = None if file.durable is None else bytearray(file.durable)
            keep = chance.choice((0.0, 0.5, 1.0))
            for operation in file.pending:
                if chance.random() < keep:
                    data = _applied(data, _torn(operation, chance))
            if data is not None:
                (folder / name).write_bytes(data)


def _applied(data: bytearray | None, operation: Operation) -> bytearray | None:
    match operation:
        case Write(_, offset, written):
            data = bytearray() if data is None else data
            data.extend(b"\0" * (offset - len(data)))
            data[offset : offset + len(written)] = written
        case Truncate(_, size) if data is not None:
            del data[size:]
        case Delete():
            return None
    return data


def _torn(operation: Operation, chance: random.Random) -> Operation:
    if not isinstance(operation, Write) or chance.random() < 0.7:
        return operation
    sectors = len(operation.data) // _SECTOR
    return Write(operation.name, operation.offset, operation.data[: chance.randint(0, sectors) * _SECTOR])
