"""HTTP sessions to the hub: certificates, proxy, redirections, and who gets the token."""

from __future__ import annotations

import ssl
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import httpx2
import truststore

from mtplx_engine.hub import answers
from mtplx_engine.hub.errors import HubError, HubErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mtplx_engine.hub.errors import CancelToken


HUB = "https://huggingface.co"

_CONNECT_S = 10.0
_ANSWER_S = 20.0
_CONNECTIONS = httpx2.Limits(max_connections=16, max_keepalive_connections=8)

_MOST_HOPS = 5


@dataclass(frozen=True, slots=True)
class HubConnection:
    """The hub's address and how it is reached.

    Attributes:
        endpoint: Address of the hub or of a mirror, without a slash at the end.
        token: Access token, None without one. Only sent to the endpoint itself, never to where it redirects.
        proxy: Address of a proxy; "" for the system's.

    Raises:
        ValueError: The endpoint is no https address (http is allowed for localhost), or the proxy no http address.
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
        return urlsplit(self.endpoint).hostname or ""

    @property
    def via_proxy(self) -> bool:
        return self._proxy() is not None

    def client(self, answer_s: float = _ANSWER_S) -> httpx2.Client:
        """Return a new HTTP client with this read timeout in seconds; the caller closes it."""
        return httpx2.Client(
            timeout=httpx2.Timeout(answer_s, connect=min(answer_s, _CONNECT_S)),
            limits=_CONNECTIONS,
            follow_redirects=False,
            verify=_certificates(),
            # The environment's netrc file would add passwords; the proxy is looked up by us.
            trust_env=False,
            proxy=self._proxy(),
            headers={"Accept-Encoding": "identity"},
        )

    def headers(self, url: str) -> dict[str, str]:
        """Return the authorization header of a request to `url`: none, unless it goes to the hub itself."""
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
    """Whether nobody on the way can change what comes from `url`: https, or localhost."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost"))
    )


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or an unclosed bracket
        return False


@cache
def _certificates() -> ssl.SSLContext:
    # Those that the system trusts; shared, since it takes a while to make.
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


class Wire:
    """Sends GET requests and follows redirections; thread-safe. It owns its client."""

    def __init__(self, connection: HubConnection, client: httpx2.Client, interrupt: CancelToken) -> None:
        self._connection = connection
        self._client = client
        self._interrupt = interrupt

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
        """Yield the response, whatever its status, after all redirections; its body is read in the block.

        Raises:
            HubError: There is none, or a redirection is unsafe, or the connection breaks off in the block.
        """
        response: httpx2.Response | None = None
        try:
            for _ in range(_MOST_HOPS):
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
