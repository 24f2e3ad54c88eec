"""One file from a hub to the disk: ranges in parallel, gone on with after any interruption, its hash checked."""

from __future__ import annotations

from collections import deque
from functools import partial as bind
from typing import TYPE_CHECKING

from mtplx_engine.hub import answers
from mtplx_engine.hub.crew import Crew
from mtplx_engine.hub.partial import Partial
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import changed, cut_off

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.digest import Hasher
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.requests import Body, Giver, Source
    from mtplx_engine.hub.retry import Retries


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
        requests: Giver,
        interrupt: Interrupt,
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
        with Crew(jobs, threads) as crew:
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
        Problem.WRONG_HASH,
        f"What arrived as {source.title} is not what its publisher put there (its checksum differs), so it was "
        "thrown away. Download it again; if it happens twice, the network or the mirror changes files.",
    )
