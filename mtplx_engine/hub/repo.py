"""What a hub says about a repository: its commit, its licence, and the files that a model needs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from mtplx_engine.hub import answers, names
from mtplx_engine.hub.digest import Expected
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt

    _T = TypeVar("_T")

_MOST_FILES = 2000
_LARGEST = 2 << 40
_TIMEOUT_S = 20.0
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its name, bytes, and what its content hashes to."""

    name: str
    size: int
    digest: Expected


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at one commit.

    Attributes:
        id: owner/name.
        revision: The commit.
        licence: As its makers say, mostly an SPDX identifier; "" when they do not.
        gated: Whether an account must accept the licence first.
        files: Those that a model needs, by name.
        left_out: Names of all others, which are never fetched.
        base: The one repository that its makers say it was made from, owner/name; "" when they name none or several.
    """

    id: str
    revision: str
    licence: str
    gated: bool
    files: tuple[RemoteFile, ...]
    left_out: tuple[str, ...]
    base: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files that a model needs."""
        return sum(file.size for file in self.files)

    def source(self, connection: Connection, file: RemoteFile) -> Source:
        """Return where a file is fetched from."""
        url = f"{connection.endpoint}/{self.id}/resolve/{self.revision}/{quote(file.name)}"
        return Source(url, file.name, file.size, file.digest)


def read(
    connection: Connection, repo_id: str, revision: str = "main", interrupt: Interrupt | None = None
) -> Repo:
    """Ask a hub about a repository.

    Args:
        connection: How the hub is reached.
        repo_id: owner/name.
        revision: A branch, tag or commit.
        interrupt: Stops it.

    Raises:
        HubError: There is none, or it cannot be had, or what the hub says makes no sense.
        CancelledError: The interrupt was set.
    """
    if not names.is_repo(repo_id):
        raise HubError(Problem.NOT_FOUND, f'"{repo_id}" is no name of a model; it looks like owner/name.')

    def ask(api: HfApi) -> Repo:
        from huggingface_hub.hf_api import RepoFile

        info = api.model_info(repo_id, revision=revision, timeout=_TIMEOUT_S)
        commit = info.sha or ""
        if not names.is_commit(commit):
            raise ValueError(f"{commit!r} is no commit")
        listed = islice(api.list_repo_tree(repo_id, recursive=True, revision=commit), _MOST_FILES)
        entries = [item for item in listed if isinstance(item, RepoFile)]
        licence = info.card_data.get("license") if info.card_data else None
        base = info.card_data.get("base_model") if info.card_data else None
        return Repo(
            id=repo_id,
            revision=commit,
            licence=licence if isinstance(licence, str) else "",
            gated=bool(info.gated),
            files=_files(entries),
            left_out=tuple(item.path for item in entries if not names.is_wanted(item.path)),
            base=_base(base, repo_id),
        )

    return asked(connection, repo_id, ask, interrupt)


def asked(
    connection: Connection, what: str, ask: Callable[[HfApi], _T], interrupt: Interrupt | None = None
) -> _T:
    """Call the hub's API, and put what goes wrong into words.

    Args:
        connection: How the hub is reached.
        what: What is asked about, for people.
        ask: Makes the calls; what it cannot understand it raises as a ValueError, TypeError or KeyError.
        interrupt: Stops it.

    Raises:
        HubError: As it says.
        CancelledError: The interrupt was set.
    """
    # Here, since it takes a tenth of a second that most starts do not need.
    from huggingface_hub import HfApi, constants, set_client_factory
    from huggingface_hub.errors import HfHubHTTPError

    # Nobody is told what runs here, and what program runs it.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    api = HfApi(endpoint=connection.endpoint, token=connection.token or False)
    with _lock:
        set_client_factory(lambda: _client(connection, interrupt))
        try:
            return ask(api)
        except HfHubHTTPError as error:
            response = error.response
            refused = answers.refusal(
                response.status_code,
                response.headers,
                what=what,
                host=connection.host,
                has_token=connection.token is not None,
            )
            raise refused or answers.portal(connection.host, repr(error)) from error
        except httpx2.HTTPError as error:
            if interrupt is not None:
                interrupt.check()
            raise answers.failure(error, host=connection.host, via_proxy=connection.via_proxy) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            # No JSON, or JSON of another form: not the hub.
            raise answers.portal(connection.host, repr(error)) from error


def _client(connection: Connection, interrupt: Interrupt | None) -> httpx2.Client:
    client = connection.client()
    client.follow_redirects = True  # renamed repositories
    if interrupt is not None:
        client.send = _stoppable(client.send, interrupt)  # type: ignore[method-assign]
    return client


def _stoppable(send: Callable[..., httpx2.Response], interrupt: Interrupt) -> Callable[..., httpx2.Response]:
    """Return what sends requests until the interrupt is set; the library would wait, and try again."""

    def send_or_stop(request: httpx2.Request, **options: Any) -> httpx2.Response:
        interrupt.check()
        request.extensions = {**request.extensions, **interrupt.extensions}
        try:
            return send(request, **options)
        except httpx2.HTTPError:
            interrupt.check()
            raise

    return send_or_stop


def _base(said: object, repo_id: str) -> str:
    """Return the one other repository that a model card names as its base, which may be anything that YAML can say."""
    listed = said if isinstance(said, list) else [said]
    if len(listed) != 1 or not isinstance(listed[0], str) or not names.is_repo(listed[0]):
        return ""
    return "" if listed[0].casefold() == repo_id.casefold() else listed[0]


def _files(items: list[RepoFile]) -> tuple[RemoteFile, ...]:
    """Return the files that a model needs, by name.

    Raises:
        ValueError: One has an impossible size or hash, or two would be one on a disk that takes names in any case.
    """
    found = [_file(item) for item in sorted(items, key=lambda item: item.path) if names.is_wanted(item.path)]
    if len({file.name.casefold() for file in found}) < len(found):
        raise ValueError("two files have the same name")
    return tuple(found)


def _file(item: RepoFile) -> RemoteFile:
    size = item.size if item.lfs is None else item.lfs.size
    if not isinstance(size, int) or not 0 <= size <= _LARGEST or size != item.size:
        raise ValueError(f"{item.path} has {size} bytes, or {item.size}")
    if item.lfs is not None:
        return RemoteFile(item.path, size, Expected("sha256", item.lfs.sha256))
    return RemoteFile(item.path, size, Expected("git", item.blob_id))
