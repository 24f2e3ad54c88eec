"""Requests to a hub along its redirections, and what goes wrong on the way in words."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import httpx2

from mtplx_engine.hub import answers
from mtplx_engine.hub.connection import is_safe
from mtplx_engine.hub.problem import HubError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt

_HOPS = 5


class Wire:
    """Sends requests; callable from several threads.

    Args:
        connection: How the hub is reached.
        client: Sends them; closed with the wire.
        interrupt: Ends them at once.
    """

    def __init__(self, connection: Connection, client: httpx2.Client, interrupt: Interrupt) -> None:
        self._connection = connection
        self._client = client
        self._interrupt = interrupt

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
        """Yield the answer, whatever its status, of whom the redirections lead to; its body is read in the block.

        Raises:
            HubError: There is none, or it is somebody else's; or it breaks off in the block.
            CancelledError: The interrupt was set.
        """
        response: httpx2.Response | None = None
        try:
            for _ in range(_HOPS):
                response = self._send(url, headers or {})
                if not response.has_redirect_location:
                    break
                response.close()
                url = urljoin(url, response.headers["Location"])
                if not is_safe(url):
                    raise answers.portal(self._connection.host, f"sent to {urlsplit(url).hostname}")
            else:
                host = self._connection.host
                raise HubError(
                    Problem.ADDRESS, f"{host} sends requests in a circle. Check its address in Settings."
                )
            yield response
        except httpx2.HTTPError as error:
            self._interrupt.check()
            host = urlsplit(url).hostname or ""
            raise answers.failure(error, host=host, via_proxy=self._connection.via_proxy) from error
        finally:
            if response is not None:
                response.close()

    def _send(self, url: str, headers: Mapping[str, str]) -> httpx2.Response:
        self._interrupt.check()
        request = self._client.build_request(
            "GET",
            url,
            headers={**headers, **self._connection.headers(url)},
            extensions=self._interrupt.extensions,
        )
        return self._client.send(request, stream=True)
