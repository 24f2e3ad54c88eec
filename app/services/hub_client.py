"""Questions to the hub: calls that never wait, and the answers as signals on the main thread."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.services.tasks import TaskRunner, describe
from mtplx_engine.errors import EngineError
from mtplx_engine.hub.interrupt import Interrupt
from mtplx_engine.hub.problem import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.services.hub_access import HubAccess
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.search import Found


class Question(Enum):
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
        self._interrupts: dict[Question, Interrupt] = {}
        self._tasks = TaskRunner("hub", self)

    def search(self, words: str) -> None:
        """Look for models: `found` follows, or `failed`."""

        def work(interrupt: Interrupt) -> Found:
            # Here and below, since the start of the program needs none of it.
            from mtplx_engine.hub import search

            return search.search(self._access.connection(), words, interrupt=interrupt)

        self._ask(Question.SEARCH, work, partial(self.found.emit, words))

    def look(self, repo_id: str, head: str = "") -> None:
        """Look at a repository, and at `head` with its drafting head: `looked` follows, or `failed`."""

        def work(interrupt: Interrupt) -> Look:
            from mtplx_engine.hub import look

            connection = self._access.connection()
            return look.at(
                connection, look.plan(connection, repo_id, head=head, interrupt=interrupt), interrupt
            )

        self._ask(Question.LOOK, work, partial(self.looked.emit, repo_id))

    def check_token(self, token: str) -> None:
        """Ask whose token this is, and keep it when it is somebody's: `token_checked` follows, or `failed`."""

        def work(interrupt: Interrupt) -> tuple[str, BaseException | None]:
            from mtplx_engine.hub.api import Api
            from mtplx_engine.hub.token import cleaned

            settings = self._access.settings
            with Api(settings.connection(cleaned(token)), interrupt=interrupt) as api:
                name = api.account()
            try:
                self._access.store(settings.connection(None).host).set(token)
            except EngineError as error:
                return name, error
            return name, None

        self._ask(Question.TOKEN, work, self._token_good)

    def forget_token(self) -> None:
        """Forget the token, in the keychain too: `token_forgotten` follows, or `failed`."""

        def work(_interrupt: Interrupt) -> None:
            self._access.store(self._access.settings.connection(None).host).forget()

        self._ask(Question.TOKEN, work, lambda _: self.token_forgotten.emit())

    def stop(self, question: Question) -> None:
        """Let a question go unanswered."""
        interrupt = self._interrupts.pop(question, None)
        if interrupt is not None:
            interrupt.set()

    def close(self) -> None:
        """Let all questions go unanswered, and end their threads within a second. A second call does nothing."""
        for question in Question:
            self.stop(question)
        self._tasks.abandon()

    def _ask(
        self, question: Question, work: Callable[[Interrupt], object], then: Callable[[Any], object]
    ) -> None:
        self.stop(question)
        interrupt = self._interrupts[question] = Interrupt()

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
            self.failed.emit(Question.TOKEN, *describe(error, "keeping the token"))
