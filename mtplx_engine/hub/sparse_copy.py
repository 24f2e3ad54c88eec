"""Copies of repositories that take no room: settings as they are, weights as their real headers and a hole behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mtplx_engine.hub import names
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import Requests, cut_off
from mtplx_engine.hub.transfer import Transfer
from mtplx_engine.models import model_config, safetensors_header, weight_files

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.repo import RemoteFile, Repo
    from mtplx_engine.hub.retry import Retries

MAX_BYTES: Final = 64 << 20
"""More than this no honest model needs to say what it is."""

_FIRST_BYTES = 128 << 10  # holds most headers whole, so that one request is enough
# What only a tokenizer or a person reads is as good as empty here.
_UNREAD = frozenset(
    {
        "LICENSE",
        "LICENSE.md",
        "LICENSE.txt",
        "README.md",
        "merges.txt",
        "tokenizer.json",
        "tokenizer.model",
        "vocab.json",
    }
)


class SparseCopier:
    """Makes folders that look like repositories; weighs what it fetches.

    Args:
        connection: How the hub is reached.
        interrupt: Stops it.
        retries: How patient it is.

    Attributes:
        fetched: Bytes that were fetched.
    """

    def __init__(self, connection: Connection, interrupt: Interrupt, retries: Retries) -> None:
        self._connection = connection
        self._interrupt = interrupt
        self._retries = retries
        self._requests = Requests(connection, interrupt)
        self.fetched = 0

    def close(self) -> None:
        """Close all connections."""
        self._requests.close()

    def lay(self, repo: Repo, folder: Path) -> None:
        """Make `folder` look like the repository.

        Raises:
            HubError: The hub does not give what is needed to know, or says it in more bytes than anybody honest.
            CancelledError: The interrupt was set.
            OSError: The disk does not take it.
        """
        for file in repo.files:
            if not (folder / file.name).exists():
                self.lay_file(repo, file, folder)

    def lay_config(self, repo: Repo, folder: Path) -> None:
        """Put only the config.json of a repository into `folder`, see `lay`, which then does the rest."""
        for file in repo.files:
            if file.name == model_config.NAME:
                self.lay_file(repo, file, folder)

    def lay_file(self, repo: Repo, file: RemoteFile, folder: Path) -> None:
        """Put one file of the repository into `folder`, see `lay`."""
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if names.is_weights(file.name):
            self._lay_weights(repo, file, path)
        elif file.name in _UNREAD or file.size > _most(file.name):
            _hole(path, b"", file.size)  # what is too large is refused for that
        else:
            self._lay_whole(repo, file, path)

    def _lay_whole(self, repo: Repo, file: RemoteFile, path: Path) -> None:
        self._weigh(file.size)
        source = repo.source(self._connection, file)
        Transfer(source, self._requests, self._interrupt, self._retries, lambda _: None).run(path, 1)

    def _lay_weights(self, repo: Repo, file: RemoteFile, path: Path) -> None:
        start = self._read(repo, file, 0, min(_FIRST_BYTES, file.size))
        length = int.from_bytes(start[: safetensors_header.LENGTH_BYTES], "little")
        end = safetensors_header.LENGTH_BYTES + length
        if length > safetensors_header.MAX_HEADER_BYTES or end > file.size:
            end = len(start)  # a header that lies is refused for that
        if end > len(start):
            start += self._read(repo, file, len(start), end)
        _hole(path, start[:end], file.size)

    def _read(self, repo: Repo, file: RemoteFile, start: int, end: int) -> bytes:
        """Return the bytes of a file from `start` to `end`."""
        self._weigh(end - start)
        source = repo.source(self._connection, file)

        def ask() -> bytes:
            found = bytearray()
            if start == end:
                return b""
            with self._requests.get(source, start, end) as body:
                wanted = end - body.start
                for piece in body.pieces:
                    self._interrupt.check()
                    found += piece
                    if len(found) >= wanted:
                        return bytes(found[start - body.start : wanted])
            raise cut_off(source)

        return self._retries.patiently(ask, self._interrupt)

    def _weigh(self, count: int) -> None:
        self.fetched += count
        if self.fetched > MAX_BYTES:
            raise HubError(
                Problem.UNSAFE,
                f"This repository needs more than {MAX_BYTES >> 20} MB to say what it holds, which no honest model "
                "does. Choose another one.",
            )


def _most(name: str) -> int:
    """Return from how many bytes on a file is refused unread."""
    return MAX_BYTES if name == weight_files.INDEX else model_config.MAX_BYTES


def _hole(path: Path, start: bytes, size: int) -> None:
    """Write a file that begins with `start` and is nothing behind it, which takes no room on the disk."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
