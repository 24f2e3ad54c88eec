"""The controller of the Models window: what its tabs show, what is searched, inspected and fetched, and remedies."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.i18n import tr
from app.model_manager import first_model, row_state, rows
from app.model_manager.hub_client import HubQuestion
from app.model_manager.installed import InstalledModels
from app.model_manager.repo_lookups import RepoLookups
from app.model_manager.row_state import (
    ABOUT_CHOICE,
    ABOUT_CONNECTION,
    ABOUT_TOKEN,
    Action,
    Fault,
    HubSnapshot,
)
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.models.memory_fit import MemoryVerdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.model_manager.downloads import DownloadRow, Downloads
    from app.model_manager.first_model import Offer
    from app.model_manager.hub_client import HubClient
    from app.model_manager.model_library import ModelLibrary
    from app.model_manager.row_state import ModelRow
    from app.model_manager.rows import Filters
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.hub.search import Found, Hit
    from mtplx_engine.util.system import Machine


class ModelsWindowController(QObject):
    """Follows the services and gives the window its rows.

    Attributes:
        hits: The results of the last search, None before the first.
        odd_hits: How many entries of the hub's list were invalid.

    Signals:
        network_wanted: The settings of the hub's connection are to be shown.
        folder_wanted: The setting of the models folder is to be shown.
        arrived(str): A model is installed; its title.
        choice_wanted: The recommended models are to be shown.
        details_wanted(str): The details of a repository are to be shown.
        refused(str): A requested repository cannot be fetched or will not fit; its row says why.
        loading_first(str): The folder of the model that is loaded now that it is installed.
    """

    changed = Signal()
    token_wanted = Signal()
    network_wanted = Signal()
    folder_wanted = Signal()
    arrived = Signal(str)
    choice_wanted = Signal()
    details_wanted = Signal(str)
    refused = Signal(str)
    loading_first = Signal(str)

    def __init__(
        self,
        hub: HubClient,
        downloads: Downloads,
        library: ModelLibrary,
        machine: Machine,
        *,
        endpoint: Callable[[], str],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.hub = hub
        self.downloads = downloads
        self.library = library
        self.machine = machine
        self.endpoint = endpoint
        self.hits: tuple[Hit, ...] | None = None
        self.odd_hits = 0
        self.searching = False
        self.search_fault: Fault | None = None
        self.lookups = RepoLookups(hub, self)
        self.installed = InstalledModels(library, downloads, machine, self)
        self._query = ""
        self._detailed = ""
        self._wanted: set[str] = set()  # repositories to be fetched once they are inspected
        self._to_load = ""  # folder name of the model that is loaded once it is installed
        self._to_load_arrived = False
        hub.found.connect(self._found)
        hub.failed.connect(self._failed)
        downloads.removed.connect(self._load_no_more)
        downloads.installed.connect(self._installed)
        self.lookups.changed.connect(self._fetch_wanted)
        self.installed.changed.connect(self.changed)
        library.changed.connect(self._load_arrived)

    # ------------------------------------------------------------ rows

    @property
    def snapshot(self) -> HubSnapshot:
        """What rows of models at the hub are made from."""
        names = {name.casefold() for model in self.library.models for name in (model.name, model.path.name)}
        return HubSnapshot(
            self.machine,
            frozenset(names),
            self.lookups.inspections,
            self.lookups.faults,
            {row.id: row for row in self.downloads.rows()},
            self.lookups.asking,
            frozenset(self._wanted),
        )

    @property
    def recommended(self) -> tuple[ModelRow, ...]:
        known = self.snapshot
        return tuple(rows.recommended(entry, known) for entry in catalogue.entries())

    def row_of(self, repo_id: str) -> ModelRow:
        """Return the row of a repository, recommended or found."""
        entry = catalogue.entry_of(repo_id)
        if entry is not None:
            return rows.recommended(entry, self.snapshot)
        hit = next((hit for hit in self.hits or () if hit.id == repo_id), None)
        return rows.found(hit, self.snapshot) if hit else rows.unlisted(repo_id, self.snapshot)

    @property
    def inspected_hits(self) -> int:
        """How many results are inspected."""
        return sum(hit.id in self.lookups.inspections or hit.id in self.lookups.faults for hit in self.hits or ())

    @property
    def trouble(self) -> Fault | None:
        """Why none of the recommended models can be fetched, None when one can or it is unknown."""
        faults = [self.lookups.faults.get(entry.target) for entry in catalogue.entries()]
        if all(fault is not None and fault.problem in ABOUT_TOKEN for fault in faults):
            sentence = tr("{host} has none of these models, or gives them only to those who have a token.")
            host = QUrl(self.endpoint()).host()
            return Fault(sentence.format(host=host), HubErrorKind.NO_TOKEN)
        return self.lookups.trouble

    @property
    def offer(self) -> Offer | None:
        """The offered first model, while only the starter is installed."""
        return first_model.offer(self.snapshot) if self.installed.models is not None else None

    def searched(self, filters: Filters) -> tuple[ModelRow, ...]:
        """Return the rows of the results that pass the filters, or may pass them."""
        known = self.snapshot
        passing = (hit for hit in self.hits or () if filters.may_pass(hit, known))
        return tuple(rows.found(hit, known) for hit in passing)

    def inspection_of(self, repo_id: str) -> RepoInspection | None:
        return self.lookups.inspections.get(repo_id)

    # ------------------------------------------------------------ search and inspection

    def open(self) -> None:
        """Update everything, when the window opens."""
        self.library.refresh()
        self.lookups.retry()
        self.lookups.inspect_all(entry.target for entry in catalogue.entries())
        if self._detailed:
            self.lookups.inspect(self._detailed)
        if self._query and self.hits is None and self.search_fault is None and not self.searching:
            self.search(self._query)

    def forget_hub(self) -> None:
        """Drop all that came from the hub; `open` asks again."""
        self.hub.stop(HubQuestion.SEARCH)
        self.hits, self.searching, self.search_fault = None, False, None
        self.lookups.forget()

    def inspect_hits(self) -> None:
        """Inspect all results, so that they can be filtered."""
        self.lookups.inspect_all(hit.id for hit in self.hits or ())

    def inspect_visible(self, repo_ids: tuple[str, ...]) -> None:
        """Inspect the results that are in sight, and no longer those that were."""
        self.lookups.narrow(lambda repo_id: repo_id in repo_ids or self._is_needed(repo_id))
        self.lookups.inspect_all(repo_ids)

    def _is_needed(self, repo_id: str) -> bool:
        return repo_id in self._wanted or catalogue.entry_of(repo_id) is not None

    def search(self, words: str) -> None:
        self._query = words
        self.lookups.narrow(self._is_needed)
        self.lookups.retry()
        self.searching, self.search_fault = True, None
        self.hub.search(words)
        self.changed.emit()

    def _found(self, words: str, found: Found) -> None:
        if words == self._query:
            self.hits, self.odd_hits, self.searching = found.hits, found.odd, False
            self.changed.emit()

    def _failed(self, question: HubQuestion, error: ErrorInfo, problem: HubErrorKind | None) -> None:
        if question is HubQuestion.SEARCH:
            self.search_fault, self.searching = Fault.of(error, problem), False
            self.changed.emit()

    def act_on_repo(self, repo_id: str, action: Action) -> None:
        match action:
            case Action.GET:
                self.fetch(repo_id)
            case Action.GET_ANYWAY:
                self._fetch_anyway(repo_id)
            case Action.DETAILS:
                self._detailed = repo_id
                self.lookups.inspect(repo_id)
                self.details_wanted.emit(repo_id)

    # ------------------------------------------------------------ fetching

    def fetch(self, repo_id: str) -> None:
        """Download a model as soon as its inspection says that it fits."""
        self._wanted.add(repo_id)
        self.lookups.inspect(repo_id)
        self._fetch_wanted()

    def fetch_and_load(self, repo_id: str) -> None:
        """Download a model if it fits, and load it once it is installed."""
        self._to_load, self._to_load_arrived = folder_name(repo_id), False
        self.fetch(repo_id)

    def _fetch_anyway(self, repo_id: str) -> None:
        """Download the model of a repository even if it is too big."""
        inspection = self.inspection_of(repo_id)
        if inspection is not None:
            judged = row_state.judge(inspection.found, self.machine)
            anyway = judged is not None and judged.verdict is MemoryVerdict.TOO_BIG
            self.downloads.enqueue(dataclasses.replace(inspection.plan, anyway=anyway))

    def _fetch_wanted(self) -> None:
        """Download the wanted repositories that are inspected and fit; the others are refused."""
        for repo_id in sorted(self._wanted):
            if repo_id in self.lookups.asking:
                continue
            self._wanted.discard(repo_id)
            inspection = self.inspection_of(repo_id)
            if inspection is not None and row_state.fits(inspection.found, self.machine):
                self.downloads.enqueue(inspection.plan)
            else:
                self._load_no_more(folder_name(repo_id))
                self.refused.emit(repo_id)
        self.changed.emit()

    def _load_no_more(self, download: str) -> None:
        if download == self._to_load:
            self._to_load = ""

    def _installed(self, row: DownloadRow) -> None:
        self._to_load_arrived = self._to_load_arrived or row.id == self._to_load
        self.library.refresh()
        self.arrived.emit(row.title)

    def _load_arrived(self) -> None:
        """Load the model that has arrived once it is listed, but no model of the user's own with its name."""
        ours = (model for model in self.library.models if not model.place)
        found = next((model for model in ours if self._to_load_arrived and model.name == self._to_load), None)
        if found is not None:
            self._to_load, self._to_load_arrived = "", False
            self.loading_first.emit(str(found.path))
            self.installed.load(found.path)

    # ------------------------------------------------------------ remedies

    def help_repo(self, repo_id: str) -> None:
        """Carry out the remedy for a repository's failure."""
        fault = self.lookups.faults.get(repo_id)
        if fault is not None and not self._help(fault, repo_id):
            self.lookups.retry_repo(repo_id)

    def help_connection(self) -> None:
        """Carry out the remedy for a failure on the way to the hub."""
        fault = self.trouble
        if fault is not None and not self._help(fault, ""):
            self.lookups.retry()

    def help_search(self) -> None:
        if self.search_fault is None:
            self.help_connection()
        elif not self._help(self.search_fault, ""):
            self.search(self._query)

    def help_download(self, download: str) -> None:
        row = next((row for row in self.downloads.rows() if row.id == download), None)
        if row is None or row.error is None:
            return
        repo_id = download.replace("--", "/", 1)
        if not self._help(Fault.of(row.error, row.problem), repo_id):
            self.downloads.resume(download)

    def retry_refused(self) -> None:
        """Try again whatever failed for lack of a token, with the new one."""
        for repo_id, fault in list(self.lookups.faults.items()):
            if fault.problem in ABOUT_TOKEN:
                self.lookups.retry_repo(repo_id)
        self.installed.retry(ABOUT_TOKEN)
        if self.search_fault is not None and self.search_fault.problem in ABOUT_TOKEN:
            self.search(self._query)

    def _help(self, fault: Fault, repo_id: str) -> bool:
        """Carry out the remedy for a failure; return False when that is to try again."""
        if fault.problem in ABOUT_TOKEN:
            self.token_wanted.emit()
        elif fault.problem in ABOUT_CHOICE:
            self.choice_wanted.emit()
        elif fault.problem in ABOUT_CONNECTION:
            self.network_wanted.emit()
        elif fault.problem is HubErrorKind.READ_ONLY:
            self.folder_wanted.emit()
        elif fault.problem is HubErrorKind.LICENCE:
            QDesktopServices.openUrl(QUrl(f"{self.endpoint()}/{repo_id}"))
        else:
            return False
        return True
