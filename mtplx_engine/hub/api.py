"""Questions to a hub through huggingface_hub, whose HTTP client is ours: an answer soon, or the reason for none.

The library has one client for the whole process, and retries in ways that nobody can end (docs/decisions.md, "Model
hub"). So the client that it is given hands each request to the `Api` of its thread. That one sends it by our
connection, waits and retries, and returns nothing but good answers: what fails is raised as our own error, which the
library passes on.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import httpx2
from huggingface_hub import HfApi, constants, get_token, set_client_factory
from huggingface_hub.errors import OfflineModeIsEnabled, OIDCError
from huggingface_hub.utils import logging as library_logging
from huggingface_hub.utils import paginate

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import answers, credentials
from mtplx_engine.hub.errors import CancelToken
from mtplx_engine.hub.http import HUB, QUESTION, HubConnection, Wire, is_safe_address
from mtplx_engine.util import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token
    from pathlib import Path

    from huggingface_hub import ModelInfo

    from mtplx_engine.hub.errors import HubError


_ANSWER_S = 10.0
_MOST_BYTES = 64 << 20
_MOST_PAGES = 20
_ODD: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What the library raises where an answer has not the form that it knows."""

_asking: ContextVar[Api] = ContextVar("_asking")


class Api:
    """Asks a hub, on one thread and as long as the `with` block lasts.

    Args:
        connection: How the hub is reached.
        repo: The repository that the questions are about; "" when they are about the hub itself.
        interrupt: Ends the asking at once.
    """

    def __init__(
        self, connection: HubConnection, repo: str = "", interrupt: CancelToken | None = None
    ) -> None:
        self._connection = connection
        self._repo = repo
        self._interrupt = interrupt or CancelToken()
        self._wire = Wire(connection, connection.client(_ANSWER_S), self._interrupt)
        self._form: type = dict
        self._pages = 0
        # Without a token: the wire adds it, to requests that go to the hub itself.
        self._library = HfApi(connection.endpoint, token=False)
        self._before: Token[Api] | None = None

    def __enter__(self) -> Self:
        self._before = _asking.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _asking.reset(self._before)
        self._wire.close()

    def model_info(self, revision: str) -> ModelInfo:
        """Return the commit, the licence and the model card of the repository.

        Raises:
            HubError: There is no answer, or it is none.
            CancelledError: The interrupt was set.
        """
        self._form = dict
        try:
            # Only what we read: one field more that the library does not understand would cost us the answer.
            return self._library.model_info(
                self._repo, revision=revision, expand=["cardData", "gated", "sha"]
            )
        except _ODD as error:
            raise self._odd(repr(error)) from error

    def account(self) -> str:
        """Return the name of the account that the connection's token is of.

        Raises:
            HubError: The hub does not know the token, or cannot be asked.
            CancelledError: The interrupt was set.
        """
        self._form = dict
        name = self._library.whoami(token=self._connection.token or "").get("name")
        if not isinstance(name, str):
            raise self._odd(f"{type(name)} is no name")
        return name

    def entries(self, path: str, parameters: dict[str, object]) -> Iterator[object]:
        """Yield the entries of a list, page after page; whatever they are, since one odd one is to spoil no others.

        Raises:
            HubError: There is no answer, or it is none.
            CancelledError: The interrupt was set.
        """
        self._form, self._pages = list, 0
        yield from paginate(self._connection.endpoint + path, parameters, headers={})

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer to a request of the library's; it is a good one.

        Raises:
            HubError: There is none.
            CancelledError: The interrupt was set.
        """
        self._pages += 1
        return QUESTION.patiently(lambda: self._answer(str(request.url)), self._interrupt)

    def _answer(self, url: str) -> httpx2.Response:
        with self._wire.get(url) as response:
            refused = answers.refusal(
                response.status_code,
                response.headers,
                host=response.url.host,
                has_token=self._connection.token is not None,
                repo=self._repo,
            )
            if refused is not None:
                raise refused
            body = self._body(response)
            following = self._following(response) if self._pages < _MOST_PAGES else None
        headers = {"Link": f'<{following}>; rel="next"'} if following else {}
        return httpx2.Response(200, headers=headers, content=body)

    def _following(self, response: httpx2.Response) -> httpx2.URL | None:
        """Return the whole address of the next page, None after the last one; the library takes it as it is."""
        found = response.links.get("next", {}).get("url")
        try:
            return response.url.join(found) if found else None
        except httpx2.InvalidURL as error:
            raise self._odd(repr(error)) from error

    def _body(self, response: httpx2.Response) -> bytes:
        """Return a body that is JSON, and of the form that is expected."""
        body = bytearray()
        for piece in response.iter_bytes():
            self._interrupt.check()
            body += piece
            if len(body) > _MOST_BYTES:
                raise self._odd(f"more than {_MOST_BYTES} bytes")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            details = f"HTTP {response.status_code}, {kind or 'no type'}, {len(body)} bytes"
            if kind.endswith("json"):
                raise self._odd(details) from error
            raise answers.portal(self._connection.host, details) from error
        if not isinstance(found, self._form):
            raise self._odd(f"{type(found).__name__} at {response.url.path}")
        return bytes(body)

    def _odd(self, details: str) -> HubError:
        if not self._repo:
            return answers.no_hub(self._connection.host, details)
        return answers.odd(self._repo, "what the hub says of it is no description of a model", details)


def login(endpoint: str) -> str | None:
    """Return the token of a login that exists, by HF_TOKEN or `hf auth login`; None without one of this hub."""
    if endpoint != constants.ENDPOINT:
        return None
    try:
        return credentials.cleaned(get_token() or "")
    except (OSError, ValueError, OIDCError, EngineError):
        return None


class _Ours(httpx2.BaseTransport):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        asking = _asking.get(None)
        if asking is None or request.method != "GET":
            # Such as the refresh of a login's token, which is `hf`'s to do: it writes below HF_HOME.
            raise OfflineModeIsEnabled(f"{request.method} {request.url.path} was not asked for")
        return asking.answer(request)


set_client_factory(lambda: httpx2.Client(transport=_Ours(), trust_env=False))
# Else the library asks the hub how agents are recognised, and keeps the answer below HF_HOME.
constants.HF_HUB_DISABLE_TELEMETRY = True
library_logging.set_verbosity(logging.CRITICAL)  # it writes to stderr


_NAME = "hub.json"


def default_endpoint() -> str:
    """Return the hub that Hugging Face's programs are set to by HF_ENDPOINT; the public one without that."""
    # Late, as everything of the library: this module is read at the start of the program.
    from huggingface_hub import constants

    return constants.ENDPOINT if is_safe_address(constants.ENDPOINT) else HUB


@dataclass(frozen=True, slots=True)
class HubSettings:
    """What a person may set.

    Attributes:
        endpoint: Address of the hub or of a mirror.
        proxy: Address of a proxy, with the name that it wants and without the password; "" for what the system is set
            to.
    """

    endpoint: str = field(default_factory=default_endpoint)
    proxy: str = ""

    def but(self, endpoint: str, proxy_address: str) -> HubSettings:
        """Return these settings with what a person typed, each "" for what it is here."""
        return HubSettings(endpoint or self.endpoint, proxy_address or self.proxy)

    def connection(self, token: str | None, password: str | None = None) -> HubConnection:
        """Return the way to the hub.

        Args:
            token: The access token of the hub, None without one.
            password: The one of the proxy, None when it wants none.

        Raises:
            EngineError: BAD_REQUEST, when an address is none.
        """
        address = self.proxy if password is None else credentials.with_password(self.proxy, password)
        try:
            return HubConnection(self.endpoint.rstrip("/"), token, address)
        except ValueError as error:
            raise EngineError(ErrorKind.BAD_REQUEST, f"{error}. Correct this and try again.") from error


def read_settings(data: Path) -> HubSettings:
    """Return the settings in the data folder; what cannot be understood is as if it was never set."""
    try:
        found = files.read_as(HubSettings, data / _NAME)
    except (OSError, ValueError):
        return HubSettings()
    # The public hub is kept when none was chosen.
    return found if found.endpoint != HUB else dataclasses.replace(found, endpoint=default_endpoint())


def write_settings(data: Path, settings: HubSettings) -> None:
    """Keep the settings, readable for nobody else; a password in the address of the proxy is left out.

    Raises:
        OSError: The disk does not take them.
    """
    endpoint = HUB if settings.endpoint == default_endpoint() else settings.endpoint
    kept = HubSettings(endpoint, credentials.without_password(settings.proxy)[0])
    files.write_json(data / _NAME, dataclasses.asdict(kept), indent=1, mode=0o600)
