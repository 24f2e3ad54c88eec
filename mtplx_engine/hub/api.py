"""REST calls to a hub through huggingface_hub, over our own HTTP client: a quick answer or a `HubError`.

The library has one client for the whole process, and retries that cannot be interrupted (docs/decisions.md, "Model
hub"). So the client that we give it passes each request to the `Api` of its thread, which sends it over our connection,
waits and retries, and returns only successful responses. Failures are raised as `HubError`, which the library passes
on.
"""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self

import httpx2
from huggingface_hub import HfApi, constants, get_token, set_client_factory
from huggingface_hub.errors import OfflineModeIsEnabled, OIDCError
from huggingface_hub.utils import logging as library_logging
from huggingface_hub.utils import paginate

from mtplx_engine.errors import EngineError
from mtplx_engine.hub import answers, credentials
from mtplx_engine.hub.errors import CancelToken
from mtplx_engine.hub.http import Wire
from mtplx_engine.hub.retries import QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token

    from huggingface_hub import ModelInfo

    from mtplx_engine.hub.errors import HubError
    from mtplx_engine.hub.http import HubConnection


_ANSWER_S = 10.0
_MOST_BYTES = 64 << 20
_MOST_PAGES = 20
_ODD: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What the library raises for a response of an unexpected form."""

_current: ContextVar[Api] = ContextVar("_current")


class Api:
    """Sends requests about a repository, or "" for the hub itself, on one thread and only inside the `with` block."""

    def __init__(self, connection: HubConnection, repo: str = "", interrupt: CancelToken | None = None) -> None:
        self._connection = connection
        self._repo = repo
        self._interrupt = interrupt or CancelToken()
        self._wire = Wire(connection, connection.client(_ANSWER_S), self._interrupt)
        self._form: type = dict
        self._pages = 0
        # Without a token: `Wire` adds it to requests that go to the hub itself.
        self._library = HfApi(connection.endpoint, token=False)
        self._outer: Token[Api] | None = None

    def __enter__(self) -> Self:
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._outer is not None:
            _current.reset(self._outer)
        self._wire.close()

    def model_info(self, revision: str) -> ModelInfo:
        """Return the commit, the licence and the model card of the repository."""
        self._form = dict
        try:
            # Only what we read: the library refuses a response with any field that it does not understand.
            return self._library.model_info(self._repo, revision=revision, expand=["cardData", "gated", "sha"])
        except _ODD as error:
            raise self._odd(repr(error)) from error

    def account(self) -> str:
        """Return the name of the account that the connection's token belongs to; raise HubError when there is none."""
        self._form = dict
        name = self._library.whoami(token=self._connection.token or "").get("name")
        if not isinstance(name, str):
            raise self._odd(f"{type(name)} is no name")
        return name

    def entries(self, path: str, parameters: dict[str, object]) -> Iterator[object]:
        """Yield the entries of a list, page by page and unchecked, so that an odd one does not cost the others."""
        self._form, self._pages = list, 0
        yield from paginate(self._connection.endpoint + path, parameters, headers={})

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Return the successful response to a request of the library, or raise HubError."""
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
        """Return the absolute URL of the next page, None after the last; the library does not resolve relative ones."""
        found = response.links.get("next", {}).get("url")
        try:
            return response.url.join(found) if found else None
        except httpx2.InvalidURL as error:
            raise self._odd(repr(error)) from error

    def _body(self, response: httpx2.Response) -> bytes:
        """Return a body that is JSON of the expected type."""
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
    """Return the token of a login by HF_TOKEN or `hf auth login`; None without one for this hub."""
    if endpoint != constants.ENDPOINT:
        return None
    try:
        return credentials.cleaned(get_token() or "")
    except (OSError, ValueError, OIDCError, EngineError):
        return None


class _Transport(httpx2.BaseTransport):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        api = _current.get(None)
        if api is None or request.method != "GET":
            # Such as the refresh of a login's token, which writes below HF_HOME and is left to `hf`.
            raise OfflineModeIsEnabled(f"{request.method} {request.url.path} was not asked for")
        return api.answer(request)


set_client_factory(lambda: httpx2.Client(transport=_Transport(), trust_env=False))
# Otherwise the library asks the hub how agents are recognised, and stores the response below HF_HOME.
constants.HF_HUB_DISABLE_TELEMETRY = True
library_logging.set_verbosity(logging.CRITICAL)  # it writes to stderr
