"""Fetch byte ranges in parallel, and measure the speed."""

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

    import httpx2

    from mtplx_engine.hub.errors import CancelToken, Waiting
    from mtplx_engine.hub.http import HubConnection, Retries
    from mtplx_engine.hub.partial import Expected, Hasher


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


class RangeSource(Protocol):
    """What gives parts of a file."""

    def get(self, source: Source, start: int, end: int, etag: str = "") -> AbstractContextManager[Body]:
        """Give bytes `start` to `end`, see `Requests.get`."""


class Requests:
    """Asks a hub for parts of files, each file from the storage that the hub sent us to the first time.

    Callable from several threads.
    """

    def __init__(self, connection: HubConnection, interrupt: CancelToken) -> None:
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
        HubErrorKind.CHANGED,
        f"{source.title} was changed at the hub while it was fetched. Start the download over.",
    )


def cut_off(source: Source) -> HubError:
    """Return that an answer ended too early."""
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
    """Threads that live as long as the `with` block, and stop taking jobs when one of them has failed.

    Args:
        jobs: What is to be done, in this order.
        threads: How many at a time.
    """

    def __init__(self, jobs: deque[Callable[[], None]], threads: int) -> None:
        self._jobs = jobs
        self._news = threading.Condition()
        self._error: BaseException | None = None
        count = min(threads, len(jobs))
        self._threads = [
            threading.Thread(target=self._work, name="download", daemon=True) for _ in range(count)
        ]
        self._working = count

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the jobs that were begun."""
        self._jobs.clear()
        for thread in self._threads:
            thread.join()

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until something is there.

        Raises:
            BaseException: What a job raised; without it, what is waited for may never come.
        """
        with self._news:
            while not is_done():
                if self._error is not None:
                    raise self._error
                if not self._working:
                    raise RuntimeError("all jobs are done, and it is not there")
                self._news.wait()

    def _work(self) -> None:
        try:
            while self._error is None and self._jobs:
                try:
                    job = self._jobs.popleft()
                except IndexError:
                    break  # another thread was faster
                job()
                with self._news:
                    self._news.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self._error = self._error or error
        finally:
            with self._news:
                self._working -= 1
                self._news.notify_all()


class Transfer:
    """Brings one file in.

    Args:
        source: The file.
        requests: Asks for parts of it.
        interrupt: Stops it.
        retries: How patient it is.
        received: Told how many bytes have arrived and are of use; a negative number when some, also of a former try,
            turned out to be of none. Called from several threads.
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
        """Fetch the file to `path`, going on with what is there of it.

        Args:
            path: Its place; while it grows it has other names there.
            threads: Ranges that are fetched at a time.

        Returns:
            The sha256 of the file, in hex.

        Raises:
            HubError: It cannot be had, or its bytes are the wrong ones; these are deleted then.
            CancelledError: The interrupt was set; what has arrived stays.
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
        """Fetch what is missing, and meanwhile hash what is there from the start."""
        jobs: deque[Callable[[], None]] = deque()
        if partial.done < self._source.size:
            if partial.segments > 1 and self._gives_ranges(partial):
                open_ones = (i for i in range(partial.segments) if not partial.is_full(i))
                jobs.extend(
                    bind(self._patiently, bind(self._fetch_segment, partial, i), partial) for i in open_ones
                )
            else:
                jobs.append(bind(self._patiently, bind(self._fetch_rest, partial), partial))
        hasher = self._source.digest.hasher(self._source.size)
        with WorkerPool(jobs, threads) as crew:
            for segment in range(partial.segments):
                crew.wait_until(bind(partial.is_full, segment))
                self._interrupt.check()
                hasher.update(partial.read(segment))
        return hasher

    def _gives_ranges(self, partial: Partial) -> bool:
        """Return whether the server can begin in the middle; forget what is here of another content."""
        answer: list[bool] = []

        def ask() -> None:
            with self._requests.get(self._source, 0, 1) as body:
                self._note_etag(partial, body.etag)
                answer.append(body.is_range)

        self._patiently(ask, partial)
        return answer[-1]

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
            self._pour(body, partial, start, end)

    def _fetch_rest(self, partial: Partial) -> None:
        """Fetch from the first missing byte to the end, or all of it where the server begins at the start."""
        start = partial.first_missing()
        with self._requests.get(self._source, start, self._source.size, partial.identity.etag) as body:
            self._note_etag(partial, body.etag)
            self._pour(body, partial, partial.first_missing(), self._source.size)

    def _pour(self, body: Body, partial: Partial, offset: int, end: int) -> None:
        """Write what comes from byte `offset` up to `end`.

        Raises:
            HubError: The answer begins later, or ended before.
        """
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

    def _patiently(self, step: Callable[[], None], partial: Partial) -> None:
        """Do a step, again as long as its failures may pass."""
        self._retries.patiently(step, self._interrupt, lambda: partial.done)


def _wrong_bytes(source: Source) -> HubError:
    return HubError(
        HubErrorKind.WRONG_HASH,
        f"What arrived as {source.title} is not what its publisher put there (its checksum differs), so it was "
        "thrown away. Download it again; if it happens twice, the network or the mirror changes files.",
    )


_WINDOW_S = 8.0
_SOON_S = 1.0  # a shorter span says nothing yet


class Speed:
    """Bytes a second over the last seconds, of those that come over the network."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now_s: float, fetched: int) -> None:
        """Note how many bytes have come, never fewer than before, at a time of a clock that never goes back."""
        self._seen.append((now_s, fetched))
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= _WINDOW_S:
            self._seen.popleft()

    @property
    def bytes_s(self) -> float | None:
        """Bytes a second, None while too little was seen."""
        if not self._seen:
            return None
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_s - first_s) if last_s - first_s >= _SOON_S else None

    def seconds_left(self, count: int) -> float | None:
        """Return how long so many bytes take at this speed, None when it stands still or is not known."""
        speed = self.bytes_s
        return count / speed if speed else None


class TransferStats:
    """Counts bytes; callable from any thread.

    Attributes:
        done: Bytes that are on the disk and of use.
        fetched: Bytes that came over the network, since this was made; never fewer than before.
        waiting: Why nothing comes at the moment, None while something does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.done = 0
        self.fetched = 0
        self.waiting: Waiting | None = None

    def find(self, count: int) -> None:
        """Count bytes that were there before."""
        with self._lock:
            self.done += count

    def receive(self, count: int) -> None:
        """Count bytes that came over the network; a negative number for some that turned out to be of no use."""
        with self._lock:
            self.done += count
            if count > 0:
                self.fetched += count
                self.waiting = None

    def wait(self, waiting: Waiting | None) -> None:
        """Note that a wait begins, or with None that it is over."""
        with self._lock:
            self.waiting = waiting
