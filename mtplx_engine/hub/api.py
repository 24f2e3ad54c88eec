"""Questions to a hub, whose answers are JSON: an answer soon, or the reason why there is none.

The paths and parameters are those of the hub's public API, https://huggingface.co/docs/hub/api.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin

import httpx2

from mtplx_engine.hub import answers
from mtplx_engine.hub.interrupt import Interrupt
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.retry import QUESTION
from mtplx_engine.hub.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mtplx_engine.hub.connection import Connection

_ANSWER_S = 10.0
_MOST_BYTES = 64 << 20
_MOST_PAGES = 20


class Api:
    """Asks a hub, as long as the `with` block lasts.

    Args:
        connection: How the hub is reached.
        repo: The repository that the questions are about; "" when they are about the hub itself.
        interrupt: Ends the asking at once.
    """

    def __init__(self, connection: Connection, repo: str = "", interrupt: Interrupt | None = None) -> None:
        self._connection = connection
        self._repo = repo
        self._interrupt = interrupt or Interrupt()
        self._wire = Wire(connection, connection.client(_ANSWER_S), self._interrupt)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def fields(self, path: str) -> Mapping[str, Any]:
        """Return the fields of the object at a path.

        Raises:
            HubError: There is no answer, or it is none.
            CancelledError: The interrupt was set.
        """
        found, _ = self._ask(self._connection.endpoint + path)
        if not isinstance(found, dict):
            raise self._odd(f"{type(found).__name__} at {path}")
        return found

    def entries(self, path: str, parameters: tuple[tuple[str, str], ...]) -> Iterator[object]:
        """Yield the entries of a list, page after page.

        Raises:
            HubError: There is no answer, or it is none.
            CancelledError: The interrupt was set.
        """
        url = f"{self._connection.endpoint}{path}?{httpx2.QueryParams(parameters)}"
        for _ in range(_MOST_PAGES):
            found, following = self._ask(url)
            if not isinstance(found, list):
                raise self._odd(f"{type(found).__name__} at {path}")
            yield from found
            if not following:
                return
            url = following

    def _ask(self, url: str) -> tuple[object, str]:
        """Return the answer and the address of the next page, "" at the last one."""

        def once() -> tuple[object, str]:
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
                following = response.links.get("next", {}).get("url", "")
                return self._parsed(response), urljoin(str(response.url), following) if following else ""

        return QUESTION.patiently(once, self._interrupt)

    def _parsed(self, response: httpx2.Response) -> object:
        body = bytearray()
        for piece in response.iter_bytes():
            self._interrupt.check()
            body += piece
            if len(body) > _MOST_BYTES:
                raise self._odd(f"more than {_MOST_BYTES} bytes")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            details = f"HTTP {response.status_code}, {kind or 'no type'}, {len(body)} bytes"
            if kind.endswith("json"):
                raise self._odd(details) from error
            raise answers.portal(self._connection.host, details) from error

    def _odd(self, details: str) -> HubError:
        if not self._repo:
            return answers.no_hub(self._connection.host, details)
        return odd(self._repo, "what the hub says of it is no description of a model", details)


def odd(repo: str, problem: str, details: str = "") -> HubError:
    """Return that what the hub says of a repository makes no sense."""
    return HubError(Problem.UNSAFE, f"{repo} cannot be fetched: {problem}. Choose another model.", details)
