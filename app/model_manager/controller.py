"""What the Models window shows and does."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.i18n import tr
from app.model_manager import first_model, row_state, rows
from app.model_manager.hub_client import HubQuestion, RepoLookups
from app.model_manager.installed import InstalledModels
from app.model_manager.row_state import ABOUT_CHOICE, ABOUT_TOKEN, ABOUT_WAY, Action, Fault, HubSnapshot
from mtplx_engine.hub import search
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
    """Follows the services and answers for the rows.

    Args:
        hub: Asks the hub.
        downloads: Fetches models.
        library: Lists and keeps what is installed.
        machine: Where models would run.
        endpoint: Returns the address of the hub, which the user may change.

    Attributes:
        hits: What the last search found, None before the first.
        odd_hits: How many entries of the hub's list made no sense.
        searching: Whether a search is going on.
        search_fault: Why the last search failed, None when it did not.
        lookups: What is known of repositories at the hub.
        installed: The models on this computer and the downloads.

    Signals:
        changed: Rows look different now.
        token_wanted: The user is to enter a token.
        network_wanted: The user is to look at how the hub is reached.
        folder_wanted: The user is to look at where new models go.
        arrived(str): A model is installed; its title.
        choice_wanted: The user is to choose another model.
        details_wanted(str): All about a repository is to be shown.
        refused(str): A repository cannot be had now or will not fit; what is known of it says why.
        loading_first(str): The model that was to be loaded once it is installed is about to be; its folder.
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
        self._words = ""
        self._detailed = ""
        self._wanted: set[str] = set()  # repositories to be fetched once the hub has said what they are
        self._to_load = ""  # the folder name of what is to be loaded once it is installed
        self._to_load_arrived = False
        hub.found.connect(self._found)
        hub.failed.connect(self._failed)
        downloads.removed.connect(self._load_no_more)
        downloads.installed.connect(self._installed)
        self.lookups.changed.connect(self._fetch_wanted)
        self.installed.changed.connect(self.changed)
        library.changed.connect(self._load_arrived)

    # ------------------------------------------------------------ what is shown

    @property
    def snapshot(self) -> HubSnapshot:
        """What is known at this moment."""
        names = {name.casefold() for model in self.library.models for name in (model.name, model.path.name)}
        return HubSnapshot(
            self.machine,
            frozenset(names),
            self.lookups.looks,
            self.lookups.faults,
            {row.id: row for row in self.downloads.rows()},
            self.lookups.asking,
            frozenset(self._wanted),
        )

    @property
    def recommended(self) -> tuple[ModelRow, ...]:
        """The recommended models."""
        known = self.snapshot
        return tuple(rows.recommended(entry, known) for entry in search.entries())

    def row_of(self, repo_id: str) -> ModelRow:
        """Return the row of a repository, recommended or found."""
        entry = search.entry_of(repo_id)
        if entry is not None:
            return rows.recommended(entry, self.snapshot)
        hit = next((hit for hit in self.hits or () if hit.id == repo_id), None)
        return rows.found(hit, self.snapshot) if hit else rows.unlisted(repo_id, self.snapshot)

    @property
    def looked_at_hits(self) -> int:
        """How many of what was found the hub was asked about."""
        return sum(hit.id in self.lookups.looks or hit.id in self.lookups.faults for hit in self.hits or ())

    @property
    def trouble(self) -> Fault | None:
        """Why none of the recommended models can be had, None when one can or nobody knows yet."""
        faults = [self.lookups.faults.get(entry.target) for entry in search.entries()]
        if all(fault is not None and fault.problem in ABOUT_TOKEN for fault in faults):
            sentence = tr("{host} has none of these models, or gives them only to those who have a token.")
            host = QUrl(self.endpoint()).host()
            return Fault(sentence.format(host=host), HubErrorKind.NO_TOKEN)
        return self.lookups.trouble

    @property
    def offer(self) -> Offer | None:
        """The one model to begin with, while there is none but the starter."""
        return first_model.offer(self.snapshot) if self.installed.models is not None else None

    def searched(self, filters: Filters) -> tuple[ModelRow, ...]:
        """Return what was found, without what is known not to pass the filters."""
        known = self.snapshot
        passing = (hit for hit in self.hits or () if filters.may_pass(hit, known))
        return tuple(rows.found(hit, known) for hit in passing)

    def look_of(self, repo_id: str) -> RepoInspection | None:
        """Return what is known of a repository, None while nothing is."""
        return self.lookups.looks.get(repo_id)

    # ------------------------------------------------------------ what is asked

    def open(self) -> None:
        """Bring everything up to date, when the window opens."""
        self.library.refresh()
        self.lookups.retry()
        self.lookups.look_at_all(entry.target for entry in search.entries())
        if self._detailed:
            self.lookups.look(self._detailed)
        if self._words and self.hits is None and self.search_fault is None and not self.searching:
            self.search(self._words)

    def forget_hub(self) -> None:
        """Forget all that a hub said; `open` asks again."""
        self.hub.stop(HubQuestion.SEARCH)
        self.hits, self.searching, self.search_fault = None, False, None
        self.lookups.forget()

    def look_at_hits(self) -> None:
        """Ask the hub about all that was found, so that it can be filtered."""
        self.lookups.look_at_all(hit.id for hit in self.hits or ())

    def look_at_seen(self, repo_ids: tuple[str, ...]) -> None:
        """Ask the hub about what is in sight of what was found, and no more about what was."""
        self.lookups.keep_waiting(lambda repo_id: repo_id in repo_ids or self._is_needed(repo_id))
        self.lookups.look_at_all(repo_ids)

    def _is_needed(self, repo_id: str) -> bool:
        """Whether it must be known of a repository, whatever is found and in sight."""
        return repo_id in self._wanted or search.entry_of(repo_id) is not None

    def search(self, words: str) -> None:
        """Search the hub."""
        self._words = words
        self.lookups.keep_waiting(self._is_needed)
        self.lookups.retry()
        self.searching, self.search_fault = True, None
        self.hub.search(words)
        self.changed.emit()

    def _found(self, words: str, found: Found) -> None:
        if words == self._words:
            self.hits, self.odd_hits, self.searching = found.hits, found.odd, False
            self.changed.emit()

    def _failed(self, question: HubQuestion, error: ErrorInfo, problem: HubErrorKind | None) -> None:
        if question is HubQuestion.SEARCH:
            self.search_fault, self.searching = Fault.of(error, problem), False
            self.changed.emit()

    def act_on_repo(self, repo_id: str, action: Action) -> None:
        """Do something about a repository."""
        match action:
            case Action.GET:
                self.fetch(repo_id)
            case Action.GET_ANYWAY:
                self._fetch_anyway(repo_id)
            case Action.DETAILS:
                self._detailed = repo_id
                self.lookups.look(repo_id)
                self.details_wanted.emit(repo_id)

    # ------------------------------------------------------------ what is fetched

    def fetch(self, repo_id: str) -> None:
        """Download a model as soon as the hub has said that it fits."""
        self._wanted.add(repo_id)
        self.lookups.look(repo_id)
        self._fetch_wanted()

    def fetch_and_load(self, repo_id: str) -> None:
        """Download a model if it fits, and load it as soon as it is there."""
        self._to_load, self._to_load_arrived = folder_name(repo_id), False
        self.fetch(repo_id)

    def _fetch_anyway(self, repo_id: str) -> None:
        """Download the model of a repository, be it too big."""
        look = self.look_of(repo_id)
        if look is not None:
            judged = row_state.judge(look.found, self.machine)
            anyway = judged is not None and judged.verdict is MemoryVerdict.TOO_BIG
            self.downloads.enqueue(dataclasses.replace(look.plan, anyway=anyway))

    def _fetch_wanted(self) -> None:
        """Download what the hub has told enough about; what cannot be had is wanted no more."""
        for repo_id in sorted(self._wanted):
            if repo_id in self.lookups.asking:
                continue
            self._wanted.discard(repo_id)
            look = self.look_of(repo_id)
            if look is not None and row_state.fits(look.found, self.machine):
                self.downloads.enqueue(look.plan)
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
        """Load what has arrived as soon as it is in the list, and nothing of the user's own with its name."""
        ours = (model for model in self.library.models if not model.place)
        found = next((model for model in ours if self._to_load_arrived and model.name == self._to_load), None)
        if found is not None:
            self._to_load, self._to_load_arrived = "", False
            self.loading_first.emit(str(found.path))
            self.installed.load(found.path)

    # ------------------------------------------------------------ what helps

    def help_repo(self, repo_id: str) -> None:
        """Do the one thing about what went wrong with a repository."""
        fault = self.lookups.faults.get(repo_id)
        if fault is not None and not self._help(fault, repo_id):
            self.lookups.look_again(repo_id)

    def help_way(self) -> None:
        """Do the one thing about what lies on the way to the hub."""
        fault = self.trouble
        if fault is not None and not self._help(fault, ""):
            self.lookups.retry()

    def help_search(self) -> None:
        """Do the one thing about what went wrong with a search."""
        if self.search_fault is None:
            self.help_way()
        elif not self._help(self.search_fault, ""):
            self.search(self._words)

    def help_download(self, download: str) -> None:
        """Do the one thing about what went wrong with a download."""
        row = next((row for row in self.downloads.rows() if row.id == download), None)
        if row is None or row.error is None:
            return
        repo_id = download.replace("--", "/", 1)
        if not self._help(Fault.of(row.error, row.problem), repo_id):
            self.downloads.resume(download)

    def retry_refused(self) -> None:
        """Ask again what failed for want of a token, when there is another one."""
        for repo_id, fault in list(self.lookups.faults.items()):
            if fault.problem in ABOUT_TOKEN:
                self.lookups.look_again(repo_id)
        self.installed.retry(ABOUT_TOKEN)
        if self.search_fault is not None and self.search_fault.problem in ABOUT_TOKEN:
            self.search(self._words)

    def _help(self, fault: Fault, repo_id: str) -> bool:
        """Do what helps against a failure, unless that is to try again."""
        if fault.problem in ABOUT_TOKEN:
            self.token_wanted.emit()
        elif fault.problem in ABOUT_CHOICE:
            self.choice_wanted.emit()
        elif fault.problem in ABOUT_WAY:
            self.network_wanted.emit()
        elif fault.problem is HubErrorKind.READ_ONLY:
            self.folder_wanted.emit()
        elif fault.problem is HubErrorKind.LICENCE:
            QDesktopServices.openUrl(QUrl(f"{self.endpoint()}/{repo_id}"))
        else:
            return False
        return True
