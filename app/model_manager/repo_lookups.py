"""Questions to the hub about repositories, one after the other, and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.model_manager.fault import Fault
from app.services.hub_client import Question
from mtplx_engine.hub.problem import ON_THE_WAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.services.hub_client import HubClient
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.problem import Problem


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
        self.looks: dict[str, Look] = {}
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
        self._hub.stop(Question.LOOK)
        self._waiting, self._now = [], ""
        self.looks.clear()
        self.faults.clear()
        self.trouble = None
        self.changed.emit()

    def _go_on(self) -> None:
        if not self._now and self._waiting and self.trouble is None:
            self._now = self._waiting.pop()
            self._hub.look(self._now)

    def _looked(self, repo_id: str, look: Look) -> None:
        self.looks[repo_id] = look
        self._now = ""
        self._go_on()
        self.changed.emit()

    def _failed(self, question: Question, error: ErrorInfo, problem: Problem | None) -> None:
        if question is not Question.LOOK:
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
