"""Requests for parts of files."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mtplx_engine.hub import answers
from mtplx_engine.hub.partial import Identity
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import httpx2

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.digest import Expected
    from mtplx_engine.hub.interrupt import Interrupt

_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")
_OK, _PARTIAL = 200, 206
_EXPIRED = (401, 403, 404, 410)  # what a storage says of a signed address that has become too old


@dataclass(frozen=True, slots=True)
class Source:
    """A file on a hub.

    Attributes:
        url: Its address at the endpoint, of one commit.
        repo: The repository that it is in.
        name: Its name there, for people.
        size: Its bytes.
        digest: What it must hash to.
    """

    url: str
    repo: str
    name: str
    size: int
    digest: Expected

    @property
    def identity(self) -> Identity:
        """What it will be while it grows."""
        return Identity(self.size, str(self.digest))

    @property
    def title(self) -> str:
        """Both names, for people."""
        return f"{self.repo} ({self.name})"


@dataclass(frozen=True, slots=True)
class Body:
    """The content of an answer.

    Attributes:
        pieces: The bytes, as they arrive.
        start: Which byte of the file comes first.
        etag: The server's name for the content; "" without one that can be relied on.
        is_range: Whether the server gave what it was asked for, and not the whole file.
    """

    pieces: Iterator[bytes]
    start: int
    etag: str
    is_range: bool


class Giver(Protocol):
    """What gives parts of a file."""

    def get(self, source: Source, start: int, end: int, etag: str = "") -> AbstractContextManager[Body]:
        """Give bytes `start` to `end`, see `Requests.get`."""


class Requests:
    """Asks a hub for parts of files, each file from the storage that the hub sent us to the first time.

    Callable from several threads.
    """

    def __init__(self, connection: Connection, interrupt: Interrupt) -> None:
        self._connection = connection
        self._wire = Wire(connection, connection.client(), interrupt)
        self._moved: dict[str, str] = {}

    def close(self) -> None:
        """Close all connections."""
        self._wire.close()

    @contextmanager
    def get(self, source: Source, start: int, end: int, etag: str = "") -> Iterator[Body]:
        """Ask for bytes `start` to `end` (not included) of a file; the answer may begin earlier and go on longer.

        Args:
            source: The file.
            start: The first byte that is wanted.
            end: The one after the last.
            etag: Of the content that the range must be of; "" for any.

        Raises:
            HubError: The file cannot be had, or is not the one that was listed, or the connection broke off, in the
                block of the `with` too.
            CancelledError: The interrupt was set.
        """
        headers = {}
        if (start, end) != (0, source.size):
            headers["Range"] = f"bytes={start}-{end - 1}"
        if etag and headers:
            headers["If-Range"] = etag
        with self._answer(source, headers) as response:
            self._refuse(response, source)
            yield _body(response, source, start)

    @contextmanager
    def _answer(self, source: Source, headers: dict[str, str]) -> Iterator[httpx2.Response]:
        """Yield the answer of the storage that we were sent to before, or else of where the hub sends us."""
        moved = self._moved.get(source.url)
        if moved is not None:
            with self._wire.get(moved, headers) as response:
                if response.status_code not in _EXPIRED:
                    yield response
                    return
            self._moved.pop(source.url, None)
        with self._wire.get(source.url, headers) as response:
            if response.is_success and str(response.url) != source.url:
                self._moved[source.url] = str(response.url)
            yield response

    def _refuse(self, response: httpx2.Response, source: Source) -> None:
        error = answers.refusal(
            response.status_code,
            response.headers,
            host=response.url.host,
            has_token=self._connection.token is not None,
            repo=source.repo,
            file=source.name,
        )
        if error is not None:
            raise error


def _body(response: httpx2.Response, source: Source, wanted: int) -> Body:
    """Return what an answer holds, after a look at whether it can be the file.

    Raises:
        HubError: It is a page of somebody else's, or a file of another size.
    """
    etag = response.headers.get("ETag", "")
    etag = "" if etag.startswith("W/") else etag
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if response.status_code == _PARTIAL and found:
        start, _, total = (int(group) for group in found.groups())
        if total == source.size and start <= wanted:
            return Body(response.iter_raw(), start, etag, is_range=True)
        raise _another_file(source, f"range {found.group()}")
    if response.status_code != _OK or _is_page(response, source):
        details = f"HTTP {response.status_code}, {response.headers.get('Content-Type', '')}"
        somebody = answers.portal if _is_page(response, source) else answers.no_hub
        raise somebody(response.url.host, details)
    length = response.headers.get("Content-Length", "")
    if length and length != str(source.size):
        raise _another_file(source, f"{length} bytes instead of {source.size}")
    return Body(response.iter_raw(), 0, etag, is_range=False)


def changed(source: Source) -> HubError:
    """Return that a file is not the same any more."""
    return HubError(
        Problem.CHANGED,
        f"{source.title} was changed at the hub while it was fetched. Start the download over.",
    )


def cut_off(source: Source) -> HubError:
    """Return that an answer ended too early."""
    return HubError(
        Problem.UNREACHABLE,
        f"The connection broke off in the middle of {source.title}. Check the connection and try again.",
    )


def _is_page(response: httpx2.Response, source: Source) -> bool:
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    return is_html and response.headers.get("Content-Length", "") != str(source.size)


def _another_file(source: Source, details: str) -> HubError:
    return HubError(
        Problem.CHANGED,
        f"{source.title} is not the file that the hub listed any more. Start the download over.",
        details,
    )
