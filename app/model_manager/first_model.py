"""The offer of a first model that fits this machine, in the Models window and in an empty chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.i18n import tr
from app.model_manager.card import plain_label
from app.model_manager.downloads import DownloadState
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS, TEXT_PX
from app.widgets.buttons import IconButton
from app.widgets.feedback import LoadingBar
from mtplx_engine.hub import catalogue
from mtplx_engine.models import starter
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.model_manager.downloads import DownloadRow, Downloads
    from app.model_manager.model_library import ModelLibrary
    from app.model_manager.row_state import HubSnapshot
    from app.storage.settings import SettingsFile
    from app.theme import Theme
    from mtplx_engine.hub.catalogue import Entry
    from mtplx_engine.util.system import Machine


# Of a recommended model: bits per parameter with scales and head, and the factor for its memory in use.
_BITS, _BESIDE = 4.8, 1.15
_USUAL_BYTES_S = 50e6 / 8  # a common household connection
_OFFER_TITLE_PX = 17


@dataclass(frozen=True, slots=True)
class Offer:
    """The offered first model: the largest recommended one that fits this machine; `cost`: size and download time."""

    repo_id: str
    title: str
    why: str
    cost: str


def estimate(machine: Machine) -> Offer | None:
    """Return an offer without asking the hub, by estimated sizes; None when nothing would fit."""
    # Late, here and below: a start without an offer needs none of it.
    from mtplx_engine.models import memory_fit

    for entry in reversed(catalogue.entries()):
        parameters = entry.billions * 1_000_000_000
        size = round(parameters * _BITS / 8)
        weights = size if machine.packed else parameters * machine.item
        if weights * _BESIDE + memory_fit.RESERVE <= memory_fit.comfortable(machine.memory, machine.limit):
            why = tr("The largest recommended model for this computer with {memory} GB. Good for {what}.")
            why = why.format(memory=round(machine.memory / 2**30), what=entry.good_for)
            return _offer(entry, why, tr("About {size}, {time} at 50 Mbit/s"), size)
    return None


def offer(known: HubSnapshot) -> Offer | None:
    """Return an offer by inspections; None with a model besides the starter, or when none fits or some are missing."""
    from app.model_manager import row_state
    from mtplx_engine.models.memory_fit import MemoryVerdict

    if known.installed - {starter.shipped_recipe().id.casefold()} or known.downloads:
        return None
    for entry in reversed(catalogue.entries()):
        inspection = known.inspections.get(entry.target)
        if inspection is None:
            if entry.target in known.faults:
                continue
            return None
        judged = row_state.judge(inspection.found, known.machine)
        if judged is not None and judged.verdict is MemoryVerdict.FITS:
            share = row_state.share(judged.total, row_state.for_models(judged))
            why = tr("The largest recommended model that fits: it needs {share}. Good for {what}.")
            why = why.format(share=share, what=entry.good_for)
            return _offer(entry, why, tr("{size}, about {time} at 50 Mbit/s"), inspection.plan.size)
    return None


def _offer(entry: Entry, why: str, cost: str, size: int) -> Offer:
    seconds = max(size / _USUAL_BYTES_S, 1)
    cost = cost.format(size=formatting.size(size), time=formatting.duration(seconds))
    return Offer(entry.target, entry.title, why, cost)


@dataclass(frozen=True, slots=True)
class FirstState:
    """What the empty chat shows of the offer.

    Attributes:
        why: The reason for it, or its download.
        after: Its cost, or its progress.
        fraction: Progress of its download, 0..1; None before that.
    """

    title: str
    why: str
    after: str
    fraction: float | None = None
    can_get: bool = False


class FirstModel(QObject):
    """Offers a first model in an empty chat until there is one, or the user dismisses the offer.

    The hub is asked only once the user has accepted.

    Signals:
        accepted(str): The model of a repository is to be fetched.
    """

    changed = Signal()
    accepted = Signal(str)

    def __init__(
        self,
        library: ModelLibrary,
        downloads: Downloads,
        settings: SettingsFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._downloads = downloads
        self._settings = settings
        self._offer: Offer | None = None
        self._asking = False
        library.changed.connect(self._listed)
        downloads.changed.connect(self._download_changed)
        downloads.removed.connect(self.changed)

    @property
    def state(self) -> FirstState | None:
        """What is shown, None for nothing."""
        if self._offer is None:
            return None
        row = next((row for row in self._downloads.rows() if row.state is not DownloadState.DONE), None)
        if row is not None:
            return _downloading(row)
        return FirstState(
            self._offer.title,
            self._offer.why,
            tr("Asking the hub…") if self._asking else self._offer.cost,
            can_get=not self._asking,
        )

    def accept(self) -> None:
        if self._offer is not None and not self._asking:
            self._asking = True
            self.changed.emit()
            self.accepted.emit(self._offer.repo_id)

    def refuse(self, repo_id: str) -> bool:
        """Note that a model cannot be fetched; return whether it is the one that was accepted here."""
        was_asked = self._asking and self._offer is not None and self._offer.repo_id == repo_id
        if was_asked:
            self._asking = False
            self.changed.emit()
        return was_asked

    def dismiss(self) -> None:
        """Offer nothing any more, not even at later starts."""
        self._settings.change(first_offer=False)
        self._offer = None
        self.changed.emit()

    def _listed(self) -> None:
        if not self._settings.value.first_offer:
            return
        names = {model.name for model in self._library.models if model.complete}
        if names - {starter.shipped_recipe().id}:
            self.dismiss()
        elif self._offer is None and names:
            self._make()

    def _make(self) -> None:
        from mtplx_engine.util import system

        self._offer = estimate(system.this_machine())
        self.changed.emit()

    def _download_changed(self, _row: DownloadRow) -> None:
        self._asking = False
        if self._offer is not None:
            self.changed.emit()


def _downloading(row: DownloadRow) -> FirstState:
    from app.model_manager import rows

    after = row.error.message if row.error is not None else rows.progress(row)
    why = tr("On its way. Go on chatting meanwhile.")
    return FirstState(row.title, why, after, rows.fraction(row))


class OfferCard(QFrame):
    """The offer in the Models window; hidden without one.

    Signals:
        accepted(Offer): The model is to be downloaded.
        details_wanted(Offer): Its details are to be shown.
    """

    accepted = Signal(object)
    details_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._offer: Offer | None = None
        self._above = plain_label(theme.font(SMALL_PX), "secondary")
        self._above.setText(tr("For this computer"))
        self._title = plain_label(theme.font(_OFFER_TITLE_PX, QFont.Weight.DemiBold))
        self._why = plain_label(theme.font(CODE_PX))
        self._after = plain_label(theme.font(SMALL_PX), "secondary")
        self.button = QPushButton(tr("Get"))
        self.button.setProperty("primary", True)
        self.button.clicked.connect(lambda: self.accepted.emit(self._offer))
        self.details = QPushButton(tr("Details"))
        self.details.clicked.connect(lambda: self.details_wanted.emit(self._offer))
        column = QVBoxLayout()
        column.setSpacing(SPACE_XS)
        for label in (self._above, self._title, self._why, self._after):
            column.addWidget(label)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        row.setSpacing(SPACE_L)
        row.addLayout(column, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.details, 0, Qt.AlignmentFlag.AlignVCenter)
        self.hide()

    def show_offer(self, offer: Offer | None) -> None:
        self._offer = offer
        self.setVisible(offer is not None)
        if offer is not None:
            self._title.setText(offer.title)
            self._why.setText(offer.why)
            after = tr("{cost}. Go on chatting meanwhile: it is loaded as soon as it is there.")
            self._after.setText(after.format(cost=offer.cost))
            self.button.setAccessibleName(tr("Get {title}").format(title=offer.title))
            self.button.setAccessibleDescription(f"{offer.why} {self._after.text()}")
            self.details.setAccessibleName(tr("Details: {title}").format(title=offer.title))


class FirstCard(QFrame):
    """The offer in an empty chat, and then the progress of its download; hidden without one.

    Signals:
        changed: Its height may have changed.
    """

    models_pressed = Signal()
    changed = Signal()

    def __init__(self, theme: Theme, first: FirstModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._first = first
        self.setObjectName("card")
        self._title = plain_label(theme.font(TEXT_PX, QFont.Weight.DemiBold))
        self._why = plain_label(theme.font(CODE_PX))
        self._after = plain_label(theme.tabular_font(SMALL_PX), "secondary")
        self._bar = LoadingBar(theme)
        self.get = QPushButton(tr("Get"))
        self.get.clicked.connect(first.accept)
        self.models = QPushButton(tr("Models…"))
        self.models.setObjectName("quiet")
        self.models.clicked.connect(self.models_pressed)
        self.close_button = IconButton(theme, "close", tr("Offer no model any more"))
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(first.dismiss)
        self._lay_out()
        first.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._first.state
        self.setVisible(state is not None)
        if state is not None:
            self._title.setText(state.title)
            self._why.setText(state.why)
            self._after.setText(state.after)
            self._bar.set_fraction(state.fraction)
            self._bar.setVisible(state.fraction is not None)
            self.get.setVisible(state.fraction is None)
            self.get.setEnabled(state.can_get)
            self.get.setAccessibleName(tr("Get {title}").format(title=state.title))
            self.get.setAccessibleDescription(f"{state.why} {state.after}")
            self.close_button.setVisible(state.fraction is None)
        self.changed.emit()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(SPACE_S)
        top.addWidget(self._title, 1)
        top.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_S)
        buttons.addWidget(self._after, 1)
        buttons.addWidget(self.models)
        buttons.addWidget(self.get)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        column.setSpacing(SPACE_XS)
        column.addLayout(top)
        column.addWidget(self._why)
        column.addWidget(self._bar)
        column.addLayout(buttons)
