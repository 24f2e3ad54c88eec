"""Models at the hub: what is known of them, how their rows look, and how they are fetched."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.model_manager import fit_words, offer, repo_faces
from app.model_manager.face import Action
from app.model_manager.fault import ABOUT_CHOICE, ABOUT_TOKEN, ABOUT_WAY, Fault
from app.model_manager.fetching import Fetching
from app.model_manager.keeper import Keeper
from app.model_manager.known import Known
from app.model_manager.looking import Looking
from app.model_manager.wishes import Wishes
from app.services.hub_client import Question
from app.translate import tr
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.problem import Problem
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.face import Face
    from app.model_manager.filters import Filters
    from app.model_manager.offer import Offer
    from app.model_manager.services import Services
    from app.services.download_row import DownloadRow
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.search import Found, Hit


class ModelManager(QObject):
    """Follows the services and answers for the rows.

    Attributes:
        services: What it works with.
        hits: What the last search found, None before the first.
        odd_hits: How many entries of the hub's list made no sense.
        searching: Whether a search is going on.
        search_fault: Why the last search failed, None when it did not.
        looking: What is known of repositories at the hub.
        keeper: The models on this computer.
        fetching: The downloads.
        wishes: What is to be fetched, and to be loaded.

    Signals:
        changed: Rows look different now.
        token_wanted: The person is to enter a token.
        network_wanted: The person is to look at how the hub is reached.
        folder_wanted: The person is to look at where new models go.
        arrived(str): A model is installed; its title.
        choice_wanted: The person is to choose another model.
        details_wanted(str): All about a repository is to be shown.
    """

    changed = Signal()
    token_wanted = Signal()
    network_wanted = Signal()
    folder_wanted = Signal()
    arrived = Signal(str)
    choice_wanted = Signal()
    details_wanted = Signal(str)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.services = services
        self.hits: tuple[Hit, ...] | None = None
        self.odd_hits = 0
        self.searching = False
        self.search_fault: Fault | None = None
        self.keeper = Keeper(services.shelf, services.inspector, services.machine, self)
        self.looking = Looking(services.hub, self)
        self.fetching = Fetching(services.downloads, self)
        self.wishes = Wishes(services, self.looking, self.fetching, self.keeper, self)
        self._words = ""
        self._detailed = ""
        services.hub.found.connect(self._found)
        self.wishes.changed.connect(self.changed)
        services.hub.failed.connect(self._failed)
        self.fetching.changed.connect(self.changed)
        self.fetching.installed.connect(self._installed)
        self.keeper.changed.connect(self.changed)

    # ------------------------------------------------------------ what is shown

    @property
    def known(self) -> Known:
        """What is known at this moment."""
        names = {
            name.casefold() for model in self.keeper.models or () for name in (model.name, model.path.name)
        }
        looking = self.looking
        return Known(
            self.services.machine,
            frozenset(names),
            looking.looks,
            looking.faults,
            self.fetching.rows,
            looking.asking,
            self.wishes.repos,
        )

    @property
    def recommended(self) -> tuple[Face, ...]:
        """The recommended models."""
        known = self.known
        return tuple(repo_faces.recommended(entry, known) for entry in catalogue.entries())

    def face_of(self, repo_id: str) -> Face:
        """Return how a repository looks, recommended or found."""
        entry = catalogue.entry_of(repo_id)
        if entry is not None:
            return repo_faces.recommended(entry, self.known)
        hit = next((hit for hit in self.hits or () if hit.id == repo_id), None)
        return repo_faces.found(hit, self.known) if hit else repo_faces.unlisted(repo_id, self.known)

    @property
    def looked_at_hits(self) -> int:
        """How many of what was found the hub was asked about."""
        return sum(hit.id in self.looking.looks or hit.id in self.looking.faults for hit in self.hits or ())

    @property
    def trouble(self) -> Fault | None:
        """Why none of the recommended models can be had, None when one can or nobody knows yet."""
        faults = [self.looking.faults.get(entry.target) for entry in catalogue.entries()]
        if all(fault is not None and fault.problem in ABOUT_TOKEN for fault in faults):
            sentence = tr("{host} has none of these models, or gives them only to those who have a token.")
            host = QUrl(self.services.endpoint()).host()
            return Fault(sentence.format(host=host), Problem.NO_TOKEN)
        return self.looking.trouble

    @property
    def offer(self) -> Offer | None:
        """The one model to begin with, while there is none but the starter."""
        return offer.make(self.known) if self.keeper.models is not None else None

    def searched(self, filters: Filters) -> tuple[Face, ...]:
        """Return what was found, without what is known not to pass the filters."""
        known = self.known
        passing = (hit for hit in self.hits or () if filters.may_pass(hit, known))
        return tuple(repo_faces.found(hit, known) for hit in passing)

    # ------------------------------------------------------------ what is done

    def open(self) -> None:
        """Bring everything up to date, when the window opens."""
        self.services.shelf.refresh()
        self.looking.retry()
        self.looking.look_at_all(entry.target for entry in catalogue.entries())
        if self._detailed:
            self.looking.look(self._detailed)
        if self._words and self.hits is None and self.search_fault is None and not self.searching:
            self.search(self._words)

    def forget_hub(self) -> None:
        """Forget all that a hub said; `open` asks again."""
        self.services.hub.stop(Question.SEARCH)
        self.hits, self.searching, self.search_fault = None, False, None
        self.looking.forget()

    def look_at_hits(self) -> None:
        """Ask the hub about all that was found, so that it can be filtered."""
        self.looking.look_at_all(hit.id for hit in self.hits or ())

    def look_at_seen(self, repo_ids: tuple[str, ...]) -> None:
        """Ask the hub about what is in sight of what was found, and no more about what was."""
        self.looking.keep_waiting(lambda repo_id: repo_id in repo_ids or self._is_needed(repo_id))
        self.looking.look_at_all(repo_ids)

    def _is_needed(self, repo_id: str) -> bool:
        """Whether it must be known of a repository, whatever is found and in sight."""
        return repo_id in self.wishes.repos or catalogue.entry_of(repo_id) is not None

    def search(self, words: str) -> None:
        """Search the hub."""
        self._words = words
        self.looking.keep_waiting(self._is_needed)
        self.looking.retry()
        self.searching, self.search_fault = True, None
        self.services.hub.search(words)
        self.changed.emit()

    def look_of(self, repo_id: str) -> Look | None:
        """Return what is known of a repository, None while nothing is."""
        return self.looking.looks.get(repo_id)

    def get(self, repo_id: str) -> None:
        """Download the model of a repository, be it too big."""
        look = self.looking.looks.get(repo_id)
        if look is not None:
            judged = fit_words.judge(look.found, self.services.machine)
            anyway = judged is not None and judged.verdict is Verdict.TOO_BIG
            self.services.downloads.enqueue(dataclasses.replace(look.plan, anyway=anyway))

    def act_on_repo(self, repo_id: str, action: Action) -> None:
        """Do something about a repository."""
        match action:
            case Action.GET:
                self.wishes.fetch(repo_id)
            case Action.GET_ANYWAY:
                self.get(repo_id)
            case Action.DETAILS:
                self._detailed = repo_id
                self.looking.look(repo_id)
                self.details_wanted.emit(repo_id)

    def help_repo(self, repo_id: str) -> None:
        """Do the one thing about what went wrong with a repository."""
        fault = self.looking.faults.get(repo_id)
        if fault is not None and not self._help(fault, repo_id):
            self.looking.look_again(repo_id)

    def help_way(self) -> None:
        """Do the one thing about what lies on the way to the hub."""
        fault = self.trouble
        if fault is not None and not self._help(fault, ""):
            self.looking.retry()

    def help_search(self) -> None:
        """Do the one thing about what went wrong with a search."""
        if self.search_fault is None:
            self.help_way()
        elif not self._help(self.search_fault, ""):
            self.search(self._words)

    def help_download(self, download: str) -> None:
        """Do the one thing about what went wrong with a download."""
        row = self.fetching.rows.get(download)
        if row is None or row.error is None:
            return
        repo_id = download.replace("--", "/", 1)
        if not self._help(Fault.of(row.error, row.problem), repo_id):
            self.services.downloads.resume(download)

    def retry_refused(self) -> None:
        """Ask again what failed for want of a token, when there is another one."""
        for repo_id, fault in list(self.looking.faults.items()):
            if fault.problem in ABOUT_TOKEN:
                self.looking.look_again(repo_id)
        self.fetching.retry(ABOUT_TOKEN)
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
        elif fault.problem is Problem.READ_ONLY:
            self.folder_wanted.emit()
        elif fault.problem is Problem.LICENCE:
            QDesktopServices.openUrl(QUrl(f"{self.services.endpoint()}/{repo_id}"))
        else:
            return False
        return True

    # ------------------------------------------------------------ what the services tell

    def _found(self, words: str, found: Found) -> None:
        if words == self._words:
            self.hits, self.odd_hits, self.searching = found.hits, found.odd, False
            self.changed.emit()

    def _failed(self, question: Question, error: ErrorInfo, problem: Problem | None) -> None:
        if question is Question.SEARCH:
            self.search_fault, self.searching = Fault.of(error, problem), False
            self.changed.emit()

    def _installed(self, row: DownloadRow) -> None:
        self.services.shelf.refresh()
        self.arrived.emit(row.title)
