"""Models that the person wants, before the hub has said what they are and before they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.model_manager import fit_words
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.fetching import Fetching
    from app.model_manager.keeper import Keeper
    from app.model_manager.looking import Looking
    from app.model_manager.services import Services


class Wishes(QObject):
    """Fetches what fits as soon as the hub has said so, and loads the one that is to be loaded once it is installed.

    Signals:
        changed: Something is wanted, or not any more.
        refused(str): A repository cannot be had now or will not fit; what is known of it says why.
        arrived(str): What is to be loaded is installed and about to be; its folder.
    """

    changed = Signal()
    refused = Signal(str)
    arrived = Signal(str)

    def __init__(
        self,
        services: Services,
        looking: Looking,
        fetching: Fetching,
        keeper: Keeper,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._looking = looking
        self._keeper = keeper
        self._services = services
        self._wanted: set[str] = set()
        self._to_load = ""  # the name of its folder
        self._arrived = False
        looking.changed.connect(self._go_on)
        fetching.removed.connect(self._forget)
        fetching.installed.connect(lambda row: self._note_arrival(row.id))
        keeper.changed.connect(self._load)

    @property
    def repos(self) -> frozenset[str]:
        """The repositories that the hub has not said enough about."""
        return frozenset(self._wanted)

    def fetch(self, repo_id: str) -> None:
        """Download a model if it fits."""
        self._wanted.add(repo_id)
        self._looking.look(repo_id)
        self._go_on()

    def fetch_and_load(self, repo_id: str) -> None:
        """Download a model if it fits, and load it as soon as it is there."""
        self._to_load, self._arrived = folder_name(repo_id), False
        self.fetch(repo_id)

    def _go_on(self) -> None:
        looking = self._looking
        for repo_id in sorted(self._wanted):
            if repo_id in looking.asking:
                continue
            look = looking.looks.get(repo_id)
            self._wanted.discard(repo_id)
            judged = fit_words.judge(look.found, self._services.machine) if look is not None else None
            if look is not None and judged is not None and judged.verdict is not Verdict.TOO_BIG:
                self._services.downloads.enqueue(look.plan)
            else:
                self._forget(folder_name(repo_id))
                self.refused.emit(repo_id)
        self.changed.emit()

    def _forget(self, download: str) -> None:
        if download == self._to_load:
            self._to_load = ""

    def _note_arrival(self, download: str) -> None:
        self._arrived = self._arrived or download == self._to_load

    def _load(self) -> None:
        """Load what has arrived as soon as it is in the list, and nothing of the person's own with its name."""
        ours = (model for model in self._keeper.models or () if not model.place)
        found = next((model for model in ours if self._arrived and model.name == self._to_load), None)
        if found is not None:
            self._to_load, self._arrived = "", False
            self.arrived.emit(str(found.path))
            self._keeper.load(found.path)
