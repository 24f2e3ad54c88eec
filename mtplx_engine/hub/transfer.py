"""Fetches one file by byte ranges in parallel, resumes it, and checks its hash."""

from __future__ import annotations

import re
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial as bind
from typing import TYPE_CHECKING, Protocol, Self

from mtplx_engine.hub import answers
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import Wire
from mtplx_engine.hub.partial import Identity, Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import TypeVar

    import httpx2

    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.partial import Expected, Hasher
    from mtplx_engine.hub.retries import Retries

    _T = TypeVar("_T")


_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")
_OK, _PARTIAL = 200, 206
_EXPIRED = (401, 403, 404, 410)  # statuses of a storage for a signed URL that has expired


@dataclass(frozen=True, slots=True)
class Source:
    """A file on a hub: its URL at the endpoint, of one commit, and the hash that it must have."""

    url: str
    repo: str
    name: str
    size: int
    digest: Expected

    @property
    def identity(self) -> Identity:
        return Identity(self.size, str(self.digest))

    @property
    def title(self) -> str:
        """Repository and file name, for messages."""
        return f"{self.repo} ({self.name})"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a response.

    Attributes:
        start: Offset of the first byte in the file.
        etag: The server's strong ETag of the content, "" without one.
        is_range: Whether the server sent the requested range, and not the whole file.
    """

    pieces: Iterator[bytes]
    start: int
    etag: str
    is_range: bool


class RangeSource(Protocol):
    """Gives byte ranges of a file."""

    def get(self, source: Source, start: int, end: int, etag: str = "") -> AbstractContextManager[Body]:
        """Give bytes `start` to `end`, see `Requests.get`."""


class Requests:
    """Requests ranges of files, each from the storage that its first request was redirected to; thread-safe."""

    def __init__(self, connection: HubConnection, interrupt: CancelToken) -> None:
        self._connection = connection
        self._wire = Wire(connection, connection.client(), interrupt)
        self._moved: dict[str, str] = {}

    def close(self) -> None:
        self._wire.close()

    @contextmanager
    def get(self, source: Source, start: int, end: int, etag: str = "") -> Iterator[Body]:
        """Yield bytes `start` to `end` (exclusive) of a file; the body may begin earlier and end later.

        The content must have this ETag, "" for any.

        Raises:
            HubError: The file is missing or not the listed one, or the connection broke off, also inside the `with`
                block.
            CancelledError: The interrupt was set.
        """
        headers = {}
        if (start, end) != (0, source.size):
            headers["Range"] = f"bytes={start}-{end - 1}"
        if etag and headers:
            headers["If-Range"] = etag
        with self._response(source, headers) as response:
            self._refuse(response, source)
            yield _body(response, source, start)

    @contextmanager
    def _response(self, source: Source, headers: dict[str, str]) -> Iterator[httpx2.Response]:
        """Yield the response of the storage that is known for the file, or else of where the hub redirects to."""
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
    """Return the body of a response; raise HubError if its headers are of a web page or a file of another size."""
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
        error = answers.portal if _is_page(response, source) else answers.no_hub
        raise error(response.url.host, details)
    length = response.headers.get("Content-Length", "")
    if length and length != str(source.size):
        raise _another_file(source, f"{length} bytes instead of {source.size}")
    return Body(response.iter_raw(), 0, etag, is_range=False)


def changed(source: Source) -> HubError:
    return HubError(
        HubErrorKind.CHANGED,
        f"{source.title} was changed at the hub while it was fetched. Start the download over.",
    )


def cut_off(source: Source) -> HubError:
    return HubError(
        HubErrorKind.UNREACHABLE,
        f"The connection broke off in the middle of {source.title}. Check the connection and try again.",
    )


def _is_page(response: httpx2.Response, source: Source) -> bool:
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    return is_html and response.headers.get("Content-Length", "") != str(source.size)


def _another_file(source: Source, details: str) -> HubError:
    return HubError(
        HubErrorKind.CHANGED,
        f"{source.title} is not the file that the hub listed any more. Start the download over.",
        details,
    )


class WorkerPool:
    """Threads that work through jobs, in order, in the `with` block, and take no more once one has failed."""

    def __init__(self, jobs: deque[Callable[[], None]], threads: int) -> None:
        self._jobs = jobs
        self._progress = threading.Condition()
        self._error: BaseException | None = None
        count = min(threads, len(jobs))
        self._threads = [threading.Thread(target=self._work, name="download", daemon=True) for _ in range(count)]
        self._working = count

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Start no more jobs and wait for those that run."""
        self._jobs.clear()
        for thread in self._threads:
            thread.join()

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is checked after each job.

        Raises:
            BaseException: What a job raised.
            RuntimeError: All jobs are done and it does not hold.
        """
        with self._progress:
            while not is_done():
                if self._error is not None:
                    raise self._error
                if not self._working:
                    raise RuntimeError("all jobs are done, and it is not there")
                self._progress.wait()

    def _work(self) -> None:
        try:
            while self._error is None and self._jobs:
                try:
                    job = self._jobs.popleft()
                except IndexError:
                    break  # another thread was faster
                job()
                with self._progress:
                    self._progress.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again by `wait_until`
            self._error = self._error or error
        finally:
            with self._progress:
                self._working -= 1
                self._progress.notify_all()


class Transfer:
    """Fetches one file.

    Args:
        received: Called from several threads with the number of valid bytes that have arrived; a negative number takes
            back bytes, also of earlier runs, that turned out to be invalid.
    """

    def __init__(
        self,
        source: Source,
        requests: RangeSource,
        interrupt: CancelToken,
        retries: Retries,
        received: Callable[[int], None],
    ) -> None:
        self._source = source
        self._requests = requests
        self._interrupt = interrupt
        self._retries = retries
        self._received = received

    def run(self, path: Path, threads: int) -> str:
        """Fetch the file to `path`, resuming its partial file, in `threads` ranges at a time; return its sha256 in hex.

        Raises:
            HubError: It cannot be fetched, or has the wrong hash and is deleted.
            CancelledError: The interrupt was set; the partial file stays.
        """
        source = self._source
        try:
            with Partial(path, source.identity) as partial:
                hasher = self._fill(partial, threads)
                if not hasher.is_right():
                    self._received(-partial.done)
                    partial.discard()
                    raise _wrong_bytes(source)
                partial.keep()
                return hasher.sha256
        except OSError as error:
            raise answers.disk_failure(error, source.title) from error

    def _fill(self, partial: Partial, threads: int) -> Hasher:
        """Fetch the missing segments, and hash the file from its start meanwhile."""
        jobs: deque[Callable[[], None]] = deque()
        if partial.done < self._source.size:
            if partial.segments > 1 and self._gives_ranges(partial):
                open_ones = (i for i in range(partial.segments) if not partial.is_full(i))
                jobs.extend(bind(self._retry, bind(self._fetch_segment, partial, i), partial) for i in open_ones)
            else:
                jobs.append(bind(self._retry, bind(self._fetch_rest, partial), partial))
        hasher = self._source.digest.hasher(self._source.size)
        with WorkerPool(jobs, threads) as pool:
            for segment in range(partial.segments):
                pool.wait_until(bind(partial.is_full, segment))
                self._interrupt.check()
                hasher.update(partial.read(segment))
        return hasher

    def _gives_ranges(self, partial: Partial) -> bool:
        """Return whether the server supports ranges; drop the partial file if its content has changed."""

        def ask() -> bool:
            with self._requests.get(self._source, 0, 1) as body:
                self._note_etag(partial, body.etag)
                return body.is_range

        return self._retry(ask, partial)

    def _note_etag(self, partial: Partial, etag: str) -> None:
        known = partial.identity.etag
        if known and known != etag:
            self._received(-partial.done)
            partial.restart()
        if etag != partial.identity.etag:
            partial.set_etag(etag)

    def _fetch_segment(self, partial: Partial, segment: int) -> None:
        start, end = partial.missing(segment)
        with self._requests.get(self._source, start, end, partial.identity.etag) as body:
            if body.start != start:
                raise changed(self._source)
            self._write_body(body, partial, start, end)

    def _fetch_rest(self, partial: Partial) -> None:
        """Fetch from the first missing byte to the end, or everything if the server supports no ranges."""
        start = partial.first_missing()
        with self._requests.get(self._source, start, self._source.size, partial.identity.etag) as body:
            self._note_etag(partial, body.etag)
            self._write_body(body, partial, partial.first_missing(), self._source.size)

    def _write_body(self, body: Body, partial: Partial, offset: int, end: int) -> None:
        """Write a body's bytes from `offset` to `end`; raise HubError if it begins later or ended earlier."""
        if body.start > offset:
            raise changed(self._source)
        skip = offset - body.start
        for piece in body.pieces:
            self._interrupt.check()
            data = memoryview(piece)[skip:][: end - offset]
            skip = max(skip - len(piece), 0)
            self._received(partial.write(offset, data))
            offset += len(data)
            if offset == end:
                return
        raise cut_off(self._source)

    def _retry(self, step: Callable[[], _T], partial: Partial) -> _T:
        return self._retries.patiently(step, self._interrupt, lambda: partial.done)


def _wrong_bytes(source: Source) -> HubError:
    return HubError(
        HubErrorKind.WRONG_HASH,
        f"What arrived as {source.title} is not what its publisher put there (its checksum differs), so it was "
        "thrown away. Download it again; if it happens twice, the network or the mirror changes files.",
    )
