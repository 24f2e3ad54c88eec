"""The queue of repositories to inspect at the hub, one at a time, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.model_manager.hub_client import HubQuestion
from app.model_manager.row_state import Fault
from mtplx_engine.hub.errors import ON_THE_WAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.model_manager.hub_client import HubClient
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.errors import HubErrorKind
    from mtplx_engine.hub.remote_inspect import RepoInspection


class RepoLookups(QObject):
    """Inspects each repository once; after a failure only on `retry_repo`.

    Attributes:
        trouble: Why the hub cannot be reached, None while it can; the queue stops until `retry`.
    """

    changed = Signal()

    def __init__(self, hub: HubClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.inspections: dict[str, RepoInspection] = {}
        self.faults: dict[str, Fault] = {}
        self.trouble: Fault | None = None
        self._queue: list[str] = []
        self._current = ""
        hub.inspected.connect(self._inspected)
        hub.failed.connect(self._failed)

    @property
    def asking(self) -> frozenset[str]:
        """The repositories whose inspection is still to come."""
        return frozenset({*self._queue, self._current} - {""}) if self.trouble is None else frozenset()

    def inspect(self, repo_id: str) -> None:
        """Inspect a repository, ahead of the queue."""
        if repo_id in self.inspections or repo_id in self.faults or repo_id == self._current:
            return
        is_new = repo_id not in self._queue
        if not is_new:
            self._queue.remove(repo_id)
        self._queue.append(repo_id)
        self._go_on()
        if is_new:
            self.changed.emit()

    def inspect_all(self, repo_ids: Iterable[str]) -> None:
        """Inspect repositories, in this order."""
        for repo_id in reversed(tuple(repo_ids)):
            if repo_id not in self._queue:
                self.inspect(repo_id)

    def retry_repo(self, repo_id: str) -> None:
        """Inspect a repository again after a failure."""
        del self.faults[repo_id]
        self.inspect(repo_id)

    def narrow(self, wanted: Callable[[str], object]) -> None:
        """Drop queued repositories that are not wanted any more."""
        wanted_ids = [repo_id for repo_id in self._queue if wanted(repo_id)]
        if wanted_ids != self._queue:
            self._queue = wanted_ids
            self.changed.emit()

    def retry(self) -> None:
        """Go on with the queue after a trouble."""
        if self.trouble is not None:
            self.trouble = None
            self._go_on()
            self.changed.emit()

    def forget(self) -> None:
        """Drop all results and the queue."""
        self._hub.stop(HubQuestion.INSPECT)
        self._queue, self._current = [], ""
        self.inspections.clear()
        self.faults.clear()
        self.trouble = None
        self.changed.emit()

    def _go_on(self) -> None:
        if not self._current and self._queue and self.trouble is None:
            self._current = self._queue.pop()
            self._hub.inspect(self._current)

    def _inspected(self, repo_id: str, inspection: RepoInspection) -> None:
        self.inspections[repo_id] = inspection
        self._current = ""
        self._go_on()
        self.changed.emit()

    def _failed(self, question: HubQuestion, error: ErrorInfo, problem: HubErrorKind | None) -> None:
        if question is not HubQuestion.INSPECT:
            return
        fault, repo_id = Fault.of(error, problem), self._current
        self._current = ""
        if problem in ON_THE_WAY:
            self._queue.append(repo_id)
            self.trouble = fault
        else:
            self.faults[repo_id] = fault
            self._go_on()
        self.changed.emit()
