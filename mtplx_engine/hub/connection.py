"""How a hub is reached: its address, the token, the proxy, the certificates of the system."""

from __future__ import annotations

import ssl
import urllib.request
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

import httpx2
import truststore

HUB = "https://huggingface.co"

_CONNECT_S = 10.0
_ANSWER_S = 20.0
_CONNECTIONS = httpx2.Limits(max_connections=16, max_keepalive_connections=8)


@dataclass(frozen=True, slots=True)
class Connection:
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
        if not is_safe(self.endpoint) or self.endpoint.endswith("/"):
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


def is_safe(url: str) -> bool:
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
