"""The bytes of a head that is taken out of a whole model, as if they were one file at the hub."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import partial as bind
from typing import TYPE_CHECKING, NamedTuple

from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import Body, changed, cut_off

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.requests import Requests, Source
    from mtplx_engine.hub.retry import Retries
    from mtplx_engine.hub.taken_head import Header, TakenHead


class _Run(NamedTuple):
    """Bytes that follow each other in a file of the original: where they begin there, and in the head's file."""

    file: str
    begin: int
    at: int
    size: int


class Gatherer:
    """Asks for parts of a head, each in its file; callable from several threads once it is open.

    Args:
        head: What is asked for.
        connection: How the hub is reached.
        requests: Asks for parts of files.
    """

    def __init__(self, head: TakenHead, connection: Connection, requests: Requests) -> None:
        self._requests = requests
        self._headers = head.headers
        self._sources = {file.name: head.original.source(connection, file) for file in head.original.files}
        self._start = head.start
        self._runs = _runs(head)
        self._etags: dict[str, str] = {}

    def open(self, interrupt: Interrupt, retries: Retries) -> None:
        """Look whether the files are those that the head was found in.

        Raises:
            HubError: One is not, or the hub gives only whole files, or it cannot be reached.
            CancelledError: The interrupt was set.
        """
        for header in self._headers:
            retries.patiently(bind(self._recognise, header), interrupt)

    @contextmanager
    def get(self, source: Source, start: int, end: int, etag: str = "") -> Iterator[Body]:  # noqa: ARG002 - as Giver
        """Give bytes `start` to `end` (not included) of the head's file, see `Requests.get`."""
        pieces = self._pieces(start, end)
        try:
            yield Body(pieces, start, self._etag, is_range=True)
        finally:
            pieces.close()

    @property
    def _etag(self) -> str:
        """A name for the content of all files together."""
        known = "\n".join(f"{name} {etag}" for name, etag in sorted(self._etags.items()))
        return f'"{hashlib.sha256(known.encode()).hexdigest()}"'

    def _recognise(self, header: Header) -> None:
        source = self._sources[header.file]
        found = bytearray()
        with self._requests.get(source, 0, header.size) as body:
            if not body.is_range and header.size < source.size:
                raise _no_ranges(source)
            for piece in body.pieces:
                found += piece
                if len(found) >= header.size:
                    break
        if len(found) < header.size:
            raise cut_off(source)
        if hashlib.sha256(found[: header.size]).hexdigest() != header.sha256:
            raise changed(source)
        self._etags[header.file] = body.etag

    def _pieces(self, start: int, end: int) -> Generator[bytes, None, None]:
        if start < len(self._start):
            yield self._start[start:end]
        for run in self._runs:
            first, last = max(start, run.at), min(end, run.at + run.size)
            if first < last:
                moved = run.begin - run.at
                yield from self._range(run.file, first + moved, last + moved)

    def _range(self, file: str, start: int, end: int) -> Iterator[bytes]:
        """Yield bytes of a file of the original.

        Raises:
            HubError: Others came, or none, or fewer.
        """
        source, etag = self._sources[file], self._etags[file]
        with self._requests.get(source, start, end, etag) as body:
            if body.etag != etag:
                raise changed(source)
            if not body.is_range:
                raise _no_ranges(source)
            skip, left = start - body.start, end - start
            for piece in body.pieces:
                data = piece[skip:][:left]
                skip, left = max(skip - len(piece), 0), left - len(data)
                if data:
                    yield data
                if not left:
                    return
        raise cut_off(source)


def _runs(head: TakenHead) -> tuple[_Run, ...]:
    """Return where the bytes of a head are, tensors that follow each other in one file together."""
    found: list[_Run] = []
    at = len(head.start)
    for part in head.parts:
        last = found[-1] if found else None
        if last is not None and (last.file, last.begin + last.size) == (part.file, part.begin):
            found[-1] = last._replace(size=last.size + part.size)
        else:
            found.append(_Run(part.file, part.begin, at, part.size))
        at += part.size
    return tuple(found)


def _no_ranges(source: Source) -> HubError:
    return HubError(
        Problem.NOT_FOUND,
        f"The hub gives only all of {source.title}, so the drafting head cannot be taken out of it. Use another "
        "mirror, or choose another model.",
    )
