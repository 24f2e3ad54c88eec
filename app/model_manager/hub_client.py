"""Search, inspection and access token at the hub, off the main thread."""

from __future__ import annotations

import threading
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.model_manager.row_state import Fault
from app.services.tasks import TaskRunner, describe
from mtplx_engine.errors import EngineError
from mtplx_engine.hub.errors import ON_THE_WAY, CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.api import HubSettings
    from mtplx_engine.hub.credentials import Keychain, SecretStore, TokenStore
    from mtplx_engine.hub.errors import HubErrorKind
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.hub.search import Found


class HubQuestion(Enum):
    """What can be asked; a new question of a kind takes the place of the one before."""

    SEARCH = auto()
    LOOK = auto()
    TOKEN = auto()


class HubClient(QObject):
    """Asks the hub, each question on a thread of its own.

    Args:
        access: The way to the hub.

    Signals:
        found(str, Found): Words, and the models that fit them.
        looked(str, Look): A repository, and what it holds.
        token_checked(str): The token is good, and known from now on; the name of its account.
        token_forgotten: No token is known any more.
        failed(Question, ErrorInfo, Problem | None): The newest question of a kind has no answer. With TOKEN after
            `token_checked`, the keychain did not keep it.
    """

    found = Signal(str, object)
    looked = Signal(str, object)
    token_checked = Signal(str)
    token_forgotten = Signal()
    failed = Signal(object, object, object)

    def __init__(self, access: HubAccess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._access = access
        self._interrupts: dict[HubQuestion, CancelToken] = {}
        self._tasks = TaskRunner("hub", self)

    def search(self, words: str) -> None:
        """Look for models: `found` follows, or `failed`."""

        def work(interrupt: CancelToken) -> Found:
            # Here and below, since the start of the program needs none of it.
            from mtplx_engine.hub import search

            return search.search(self._access.connection(), words, interrupt=interrupt)

        self._ask(HubQuestion.SEARCH, work, partial(self.found.emit, words))

    def look(self, repo_id: str, head: str = "") -> None:
        """Look at a repository, and at `head` with its drafting head: `looked` follows, or `failed`."""

        def work(interrupt: CancelToken) -> RepoInspection:
            from mtplx_engine.hub import remote_inspect

            connection = self._access.connection()
            return remote_inspect.inspect_repo(
                connection,
                remote_inspect.plan_download(connection, repo_id, head=head, interrupt=interrupt),
                interrupt,
            )

        self._ask(HubQuestion.LOOK, work, partial(self.looked.emit, repo_id))

    def check_token(self, token: str) -> None:
        """Ask whose token this is, and keep it when it is somebody's: `token_checked` follows, or `failed`."""

        def work(interrupt: CancelToken) -> tuple[str, BaseException | None]:
            from mtplx_engine.hub.api import Api
            from mtplx_engine.hub.credentials import cleaned

            settings = self._access.settings
            with Api(settings.connection(cleaned(token)), interrupt=interrupt) as api:
                name = api.account()
            try:
                self._access.store(settings.connection(None).host).set(token)
            except EngineError as error:
                return name, error
            return name, None

        self._ask(HubQuestion.TOKEN, work, self._token_good)

    def forget_token(self) -> None:
        """Forget the token, in the keychain too: `token_forgotten` follows, or `failed`."""

        def work(_interrupt: CancelToken) -> None:
            self._access.store(self._access.settings.connection(None).host).forget()

        self._ask(HubQuestion.TOKEN, work, lambda _: self.token_forgotten.emit())

    def stop(self, question: HubQuestion) -> None:
        """Let a question go unanswered."""
        interrupt = self._interrupts.pop(question, None)
        if interrupt is not None:
            interrupt.set()

    def close(self) -> None:
        """Let all questions go unanswered, and end their threads within a second. A second call does nothing."""
        for question in HubQuestion:
            self.stop(question)
        self._tasks.abandon()

    def _ask(
        self, question: HubQuestion, work: Callable[[CancelToken], object], then: Callable[[Any], object]
    ) -> None:
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


def _find_keychain() -> Keychain | None:
    # Here and below, since the start of the program needs none of it.
    from mtplx_engine.hub.credentials import system_keychain

    return system_keychain()


class HubAccess:
    """Callable from any thread; `connection` and `store` may wait for a dialog of the keychain.

    Args:
        data_dir: Where the settings are that the window and the command share.
        find_keychain: Returns where tokens last, None for memory only.
    """

    def __init__(self, data_dir: Path, find_keychain: Callable[[], Keychain | None] = _find_keychain) -> None:
        self._data_dir = data_dir
        self._find_keychain = find_keychain
        self._lock = threading.Lock()
        self._tokens: dict[str, TokenStore] = {}
        self._passwords: dict[str, SecretStore | None] = {}

    @property
    def settings(self) -> HubSettings:
        """Address and proxy."""
        from mtplx_engine.hub import api

        return api.read_settings(self._data_dir)

    @property
    def default(self) -> HubSettings:
        """What holds where nothing is set."""
        from mtplx_engine.hub.api import HubSettings

        return HubSettings()

    @property
    def lasts(self) -> bool:
        """Whether secrets are still known at the next start."""
        return self._find_keychain() is not None

    def set_settings(self, settings: HubSettings) -> None:
        """Use another hub or proxy from now on; a password in the proxy's address goes to the keychain.

        Raises:
            EngineError: BAD_REQUEST, when one of them is no address, and nothing is changed then; STORAGE, when the
                keychain does not keep the password: it is known until the program ends then.
            OSError: The disk does not take it.
        """
        from mtplx_engine.hub import api as kept
        from mtplx_engine.hub import credentials

        settings.connection(None)
        kept.write_settings(self._data_dir, settings)
        address, password = credentials.without_password(settings.proxy)
        store = self._password(address)
        if password and store is not None:
            store.set(password)

    def connection(self) -> HubConnection:
        """Return the way to the hub, with the token and the password of the proxy that are known.

        Without a token of ours it is the one of a login by Hugging Face's own programs.

        Raises:
            EngineError: BAD_REQUEST, when the settings are of no use.
        """
        from mtplx_engine.hub import api

        found = self.settings
        bare = found.connection(None)
        token = self.store(bare.host).get() or api.login(bare.endpoint)
        store = self._password(found.proxy)
        return found.connection(token, store.get() if store is not None else None)

    def store(self, host: str) -> TokenStore:
        """Return what keeps the token of a hub."""
        from mtplx_engine.hub.credentials import TokenStore

        with self._lock:
            if host not in self._tokens:
                self._tokens[host] = TokenStore(host, self._find_keychain())
            return self._tokens[host]

    def _password(self, address: str) -> SecretStore | None:
        """Return what keeps the password of the proxy at an address, None when it wants none."""
        from mtplx_engine.hub import credentials

        with self._lock:
            if address not in self._passwords:
                self._passwords[address] = credentials.store_proxy(address, self._find_keychain())
            return self._passwords[address]


class RepoLookups(QObject):
    """Asks about each repository once; after a failure only when it is told to.

    Attributes:
        looks: What is known, by repository.
        faults: Why nothing is, by repository.
        trouble: Why the hub cannot be asked about any, None while it can; nothing is asked until `retry`.

    Signals:
        changed: One of them is another now.
    """

    changed = Signal()

    def __init__(self, hub: HubClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.looks: dict[str, RepoInspection] = {}
        self.faults: dict[str, Fault] = {}
        self.trouble: Fault | None = None
        self._waiting: list[str] = []
        self._now = ""
        hub.looked.connect(self._looked)
        hub.failed.connect(self._failed)

    @property
    def asking(self) -> frozenset[str]:
        """The repositories whose answers are still to come."""
        return frozenset({*self._waiting, self._now} - {""}) if self.trouble is None else frozenset()

    def look(self, repo_id: str) -> None:
        """Ask about a repository, before all others that wait."""
        if repo_id in self.looks or repo_id in self.faults or repo_id == self._now:
            return
        is_new = repo_id not in self._waiting
        if not is_new:
            self._waiting.remove(repo_id)
        self._waiting.append(repo_id)
        self._go_on()
        if is_new:
            self.changed.emit()

    def look_at_all(self, repo_ids: Iterable[str]) -> None:
        """Ask about repositories, the first one first."""
        for repo_id in reversed(tuple(repo_ids)):
            if repo_id not in self._waiting:
                self.look(repo_id)

    def look_again(self, repo_id: str) -> None:
        """Ask about a repository that failed."""
        del self.faults[repo_id]
        self.look(repo_id)

    def keep_waiting(self, wanted: Callable[[str], object]) -> None:
        """Ask no more about what waits and is not wanted."""
        kept = [repo_id for repo_id in self._waiting if wanted(repo_id)]
        if kept != self._waiting:
            self._waiting = kept
            self.changed.emit()

    def retry(self) -> None:
        """Go on after a trouble."""
        if self.trouble is not None:
            self.trouble = None
            self._go_on()
            self.changed.emit()

    def forget(self) -> None:
        """Know nothing, and ask nothing that was to be asked."""
        self._hub.stop(HubQuestion.LOOK)
        self._waiting, self._now = [], ""
        self.looks.clear()
        self.faults.clear()
        self.trouble = None
        self.changed.emit()

    def _go_on(self) -> None:
        if not self._now and self._waiting and self.trouble is None:
            self._now = self._waiting.pop()
            self._hub.look(self._now)

    def _looked(self, repo_id: str, look: RepoInspection) -> None:
        self.looks[repo_id] = look
        self._now = ""
        self._go_on()
        self.changed.emit()

    def _failed(self, question: HubQuestion, error: ErrorInfo, problem: HubErrorKind | None) -> None:
        if question is not HubQuestion.LOOK:
            return
        fault, repo_id = Fault.of(error, problem), self._now
        self._now = ""
        if problem in ON_THE_WAY:
            self._waiting.append(repo_id)
            self.trouble = fault
        else:
            self.faults[repo_id] = fault
            self._go_on()
        self.changed.emit()
