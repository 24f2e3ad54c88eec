"""Search, inspection and access token at the hub, off the main thread.

The modules that need the hub's HTTP stack are imported late: the start of the program needs none of it.
"""

from __future__ import annotations

import threading
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.services.tasks import TaskRunner, describe
from mtplx_engine.errors import EngineError
from mtplx_engine.hub import credentials
from mtplx_engine.hub.errors import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.credentials import Keychain, SecretStore, TokenStore
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.hub.search import Found
    from mtplx_engine.hub.settings import HubSettings


class HubQuestion(Enum):
    """The kinds of requests; a new one of a kind replaces the one before."""

    SEARCH = auto()
    INSPECT = auto()
    TOKEN = auto()


class HubClient(QObject):
    """Sends requests to the hub, each on a thread of its own.

    Signals:
        found(str, Found): A query and its results.
        inspected(str, RepoInspection): A repository and its inspection.
        token_checked(str): The token is valid and in use; the name of its account.
        token_forgotten: The token is deleted.
        failed(HubQuestion, ErrorInfo, HubErrorKind | None): The newest request of a kind failed. With TOKEN after
            `token_checked`, the keychain did not store it.
    """

    found = Signal(str, object)
    inspected = Signal(str, object)
    token_checked = Signal(str)
    token_forgotten = Signal()
    failed = Signal(object, object, object)

    def __init__(self, access: HubAccess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._access = access
        self._interrupts: dict[HubQuestion, CancelToken] = {}
        self._tasks = TaskRunner("hub", self)

    def search(self, words: str) -> None:
        """Search for models: `found` follows, or `failed`."""

        def work(interrupt: CancelToken) -> Found:
            from mtplx_engine.hub import search

            return search.search(self._access.connection(), words, interrupt=interrupt)

        self._ask(HubQuestion.SEARCH, work, partial(self.found.emit, words))

    def inspect(self, repo_id: str, head: str = "") -> None:
        """Inspect a repository, with the drafting head in `head`: `inspected` follows, or `failed`."""

        def work(interrupt: CancelToken) -> RepoInspection:
            from mtplx_engine.hub import remote_inspect

            connection = self._access.connection()
            return remote_inspect.inspect_repo(
                connection,
                remote_inspect.plan_download(connection, repo_id, head=head, interrupt=interrupt),
                interrupt,
            )

        self._ask(HubQuestion.INSPECT, work, partial(self.inspected.emit, repo_id))

    def check_token(self, token: str) -> None:
        """Ask for the account of a token and store a valid one: `token_checked` follows, or `failed`."""

        def work(interrupt: CancelToken) -> tuple[str, BaseException | None]:
            from mtplx_engine.hub.api import Api

            settings = self._access.settings
            with Api(settings.connection(credentials.cleaned(token)), interrupt=interrupt) as api:
                name = api.account()
            try:
                self._access.store(settings.connection(None).host).set(token)
            except EngineError as error:
                return name, error
            return name, None

        self._ask(HubQuestion.TOKEN, work, self._token_good)

    def forget_token(self) -> None:
        """Delete the token, in the keychain too: `token_forgotten` follows, or `failed`."""

        def work(_interrupt: CancelToken) -> None:
            self._access.store(self._access.settings.connection(None).host).forget()

        self._ask(HubQuestion.TOKEN, work, lambda _: self.token_forgotten.emit())

    def stop(self, question: HubQuestion) -> None:
        interrupt = self._interrupts.pop(question, None)
        if interrupt is not None:
            interrupt.set()

    def close(self) -> None:
        """Cancel all requests, and end their threads within a second. A second call does nothing."""
        for question in HubQuestion:
            self.stop(question)
        self._tasks.abandon()

    def _ask(self, question: HubQuestion, work: Callable[[CancelToken], object], then: Callable[[Any], object]) -> None:
        self.stop(question)
        interrupt = self._interrupts[question] = CancelToken()

        def done(answer: object) -> None:
            if self._interrupts.get(question) is interrupt:
                del self._interrupts[question]
                then(answer)

        def failed(error: BaseException) -> None:
            if self._interrupts.get(question) is interrupt and not isinstance(error, CancelledError):
                del self._interrupts[question]
                self.failed.emit(question, *describe(error, question.name))

        self._tasks.run(partial(work, interrupt), done, failed)

    def _token_good(self, answer: tuple[str, BaseException | None]) -> None:
        name, error = answer
        self.token_checked.emit(name)
        if error is not None:
            self.failed.emit(HubQuestion.TOKEN, *describe(error, "keeping the token"))


class HubAccess:
    """The hub's settings and secrets; thread-safe. `connection` and `store` may wait for a dialog of the keychain.

    Args:
        data_dir: The data folder, whose settings the command line shares.
        find_keychain: Returns the keychain, None for memory only.
    """

    def __init__(
        self, data_dir: Path, find_keychain: Callable[[], Keychain | None] = credentials.system_keychain
    ) -> None:
        self._data_dir = data_dir
        self._find_keychain = find_keychain
        self._lock = threading.Lock()
        self._tokens: dict[str, TokenStore] = {}
        self._passwords: dict[str, SecretStore | None] = {}

    @property
    def settings(self) -> HubSettings:
        from mtplx_engine.hub import settings

        return settings.read_settings(self._data_dir)

    @property
    def default(self) -> HubSettings:
        """The settings without any choice of the user."""
        from mtplx_engine.hub.settings import HubSettings

        return HubSettings()

    @property
    def lasts(self) -> bool:
        """Whether secrets outlast the program."""
        return self._find_keychain() is not None

    def set_settings(self, settings: HubSettings) -> None:
        """Use another hub or proxy from now on; a password in the proxy's address goes to the keychain.

        Raises:
            EngineError: BAD_REQUEST, when an address is invalid and nothing is changed; STORAGE, when the keychain does
                not store the password, which is then known until the program ends.
            OSError: The disk cannot be written.
        """
        from mtplx_engine.hub.settings import write_settings

        settings.connection(None)
        write_settings(self._data_dir, settings)
        address, password = credentials.without_password(settings.proxy)
        store = self._password(address)
        if password and store is not None:
            store.set(password)

    def connection(self) -> HubConnection:
        """Return the connection to the hub, with token and proxy password.

        Without a token of ours, that of a login by Hugging Face's own programs is used.

        Raises:
            EngineError: BAD_REQUEST, when the settings are invalid.
        """
        from mtplx_engine.hub import api

        settings = self.settings
        bare = settings.connection(None)
        token = self.store(bare.host).get() or api.login(bare.endpoint)
        store = self._password(settings.proxy)
        return settings.connection(token, store.get() if store is not None else None)

    def store(self, host: str) -> TokenStore:
        with self._lock:
            if host not in self._tokens:
                self._tokens[host] = credentials.TokenStore(host, self._find_keychain())
            return self._tokens[host]

    def _password(self, address: str) -> SecretStore | None:
        """Return the store of the password for the proxy at an address, None when it needs none."""
        with self._lock:
            if address not in self._passwords:
                self._passwords[address] = credentials.store_proxy(address, self._find_keychain())
            return self._passwords[address]
