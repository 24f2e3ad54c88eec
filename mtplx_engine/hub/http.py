"""HTTP sessions to the hub: certificates, proxy, size limits, retries."""

from __future__ import annotations

import math
import random
import ssl
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import httpx2
import truststore

from mtplx_engine.hub import answers
from mtplx_engine.hub.errors import HubError, HubErrorKind, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar

    from mtplx_engine.hub.errors import CancelToken

    _T = TypeVar("_T")


HUB = "https://huggingface.co"

_CONNECT_S = 10.0
_ANSWER_S = 20.0
_CONNECTIONS = httpx2.Limits(max_connections=16, max_keepalive_connections=8)


@dataclass(frozen=True, slots=True)
class HubConnection:
    """Where the hub is and how to get there.

    Attributes:
        endpoint: Address of the hub or of a mirror, without a slash at the end.
        token: Access token, None for none. Only ever sent to the endpoint itself, never where it redirects to.
        proxy: Address of a proxy; "" for what the system is set to.

    Raises:
        ValueError: The endpoint is no https address (http is allowed on this machine itself), or a proxy is none.
    """

    endpoint: str = HUB
    token: str | None = field(default=None, repr=False)
    proxy: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        faults = []
        if not is_safe_address(self.endpoint) or self.endpoint.endswith("/"):
            faults.append(f"{self.endpoint!r} is no https address of a hub")
        if self.proxy and not _is_proxy(self.proxy):
            faults.append(f"{self.proxy!r} is no http address of a proxy")
        if faults:
            raise ValueError(", and ".join(faults))

    @property
    def host(self) -> str:
        """The hub's host, for people."""
        return urlsplit(self.endpoint).hostname or ""

    @property
    def via_proxy(self) -> bool:
        """Whether a proxy stands between us and the hub."""
        return self._proxy() is not None

    def client(self, answer_s: float = _ANSWER_S) -> httpx2.Client:
        """Return a new HTTP client, which waits so long for a server that says nothing; who asked for it closes it."""
        return httpx2.Client(
            timeout=httpx2.Timeout(answer_s, connect=min(answer_s, _CONNECT_S)),
            limits=_CONNECTIONS,
            follow_redirects=False,
            verify=_certificates(),
            # The environment's netrc file would add passwords; of proxies we ask the system ourselves.
            trust_env=False,
            proxy=self._proxy(),
            headers={"Accept-Encoding": "identity"},
        )

    def headers(self, url: str) -> dict[str, str]:
        """Return what a request to `url` carries to say who asks: nothing, unless it goes to the hub itself."""
        if self.token and _origin(url) == _origin(self.endpoint):
            return {"Authorization": f"Bearer {self.token}"}
        return {}

    def _proxy(self) -> str | None:
        if self.proxy:
            return self.proxy
        if urllib.request.proxy_bypass(self.host):
            return None
        return urllib.request.getproxies().get(urlsplit(self.endpoint).scheme)


def is_safe_address(url: str) -> bool:
    """Whether what comes from `url` cannot be changed on the way: https, or this machine itself."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost"))
    )


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, or a bracket too few
        return False


@cache
def _certificates() -> ssl.SSLContext:
    """Return what trusts the certificates that the system trusts; shared, since it takes a while to make."""
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


_HOPS = 5


class Wire:
    """Sends requests; callable from several threads.

    Args:
        connection: How the hub is reached.
        client: Sends them; closed with the wire.
        interrupt: Ends them at once.
    """

    def __init__(self, connection: HubConnection, client: httpx2.Client, interrupt: CancelToken) -> None:
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
                if not is_safe_address(url):
                    raise answers.portal(self._connection.host, f"sent to {urlsplit(url).hostname}")
            else:
                host = self._connection.host
                raise HubError(
                    HubErrorKind.ADDRESS, f"{host} sends requests in a circle. Check its address in Settings."
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


def _say_nothing(_waiting: Waiting | None) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Retries:
    """How patient something is.

    Attributes:
        limit: Failures in a row, without a byte in between, after which it gives up.
        first_s: The longest wait after the first one; it doubles with each further one.
        longest_s: The longest wait at all, unless the hub asks for more.
        hold_s: A wait that would be longer, because the hub asks for it or otherwise, is not begun.
        patience_s: After so long without a byte no new try is begun.
        tell: Told of a wait when it begins, and None when it is over. Called from several threads.
    """

    limit: int = 7
    first_s: float = 1.0
    longest_s: float = 60.0
    hold_s: float = 3600.0
    patience_s: float = math.inf
    tell: Callable[[Waiting | None], None] = _say_nothing

    def wait_s(self, failures: int, error: HubError) -> float:
        """Return how long to wait after this many failures in a row.

        Spread at random, so that what was cut off together does not come back together.
        """
        longest = min(self.first_s * 2.0 ** min(failures - 1, 60), self.longest_s)
        spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return max(spread, error.wait_s or 0.0)

    def patiently(self, step: Callable[[], _T], interrupt: CancelToken, done: Callable[[], int] = int) -> _T:
        """Do a step, again as long as its failures may pass.

        Args:
            step: What to do.
            interrupt: Ends the waiting.
            done: Returns how many bytes there are; a failure after new ones is the first in a row.

        Raises:
            HubError: It failed for good, or for longer than is waited for.
            CancelledError: The interrupt was set.
        """
        failures, before, since_s = 0, done(), time.monotonic()
        while True:
            try:
                return step()
            except HubError as error:
                if done() != before:
                    failures, before, since_s = 0, done(), time.monotonic()
                failures += 1
                wait_s = self.wait_s(failures, error)
                ends = failures >= self.limit or time.monotonic() - since_s >= self.patience_s
                if not error.passes or ends or wait_s > self.hold_s:
                    raise
                self._wait(wait_s, error, interrupt)

    def _wait(self, seconds: float, error: HubError, interrupt: CancelToken) -> None:
        self.tell(waiting(error, seconds))
        try:
            interrupt.wait(seconds)
        finally:
            self.tell(None)


def waiting(error: HubError, seconds: float) -> Waiting:
    """Return the wait after a failure."""
    return Waiting(error.cause, time.time() + seconds, asked=error.wait_s is not None)


QUESTION: Final = Retries(limit=3, first_s=0.5, longest_s=1.0, hold_s=3.0, patience_s=8.0)
"""For what a person waits to read: an answer soon, or the reason why there is none."""
