"""The first model beside the starter: offered in the main window until there is one, or the person wants none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.download_row import DownloadState
from app.translate import tr
from mtplx_engine.models import starter

if TYPE_CHECKING:
    from app.model_manager.offer import Offer
    from app.services.download_row import DownloadRow
    from app.services.downloads import Downloads
    from app.services.model_shelf import ModelShelf
    from app.services.settings import SettingsFile
    from mtplx_engine.models.installed_model import InstalledModel


@dataclass(frozen=True, slots=True)
class FirstFace:
    """What is shown of it.

    Attributes:
        title: The model.
        why: Why this one, or what happens to it.
        after: What it costs, or how far it is.
        fraction: How much of it is there, 0..1; None before it is on its way.
        can_get: Whether it can be accepted.
    """

    title: str
    why: str
    after: str
    fraction: float | None = None
    can_get: bool = False


class FirstOffer(QObject):
    """Knows by itself what may fit; the hub is asked only once the person has accepted.

    Args:
        shelf: The models that there are.
        downloads: Those that are on their way.
        settings: Remember that nothing is offered any more.

    Signals:
        changed: `face` is another one now.
        accepted(str): The model of a repository is to be fetched.
    """

    changed = Signal()
    accepted = Signal(str)

    def __init__(
        self, shelf: ModelShelf, downloads: Downloads, settings: SettingsFile, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._shelf = shelf
        self._downloads = downloads
        self._settings = settings
        self._offer: Offer | None = None
        self._asking = False
        shelf.listed.connect(self._listed)
        downloads.changed.connect(self._download_changed)
        downloads.removed.connect(lambda _download: self.changed.emit())

    def open(self) -> None:
        """Look whether there is anything to offer: `changed` follows."""
        if self._settings.value.first_offer:
            self._shelf.refresh()

    @property
    def face(self) -> FirstFace | None:
        """What is shown now, None for nothing."""
        if self._offer is None:
            return None
        row = next(
            (row for row in self._downloads.rows() if row.state is not DownloadState.DONE),
            None,
        )
        if row is not None:
            return _on_its_way(row)
        return FirstFace(
            self._offer.title,
            self._offer.why,
            tr("Asking the hub…") if self._asking else self._offer.cost,
            can_get=not self._asking,
        )

    def accept(self) -> None:
        """Fetch the offered model."""
        if self._offer is not None and not self._asking:
            self._asking = True
            self.changed.emit()
            self.accepted.emit(self._offer.repo_id)

    def refuse(self, repo_id: str) -> bool:
        """Take note that a model cannot be had; return whether it is the one that was accepted here."""
        was_asked = self._asking and self._offer is not None and self._offer.repo_id == repo_id
        if was_asked:
            self._asking = False
            self.changed.emit()
        return was_asked

    def dismiss(self) -> None:
        """Offer nothing any more, at later starts neither."""
        self._settings.change(first_offer=False)
        self._offer = None
        self.changed.emit()

    def _listed(self, models: tuple[InstalledModel, ...]) -> None:
        if not self._settings.value.first_offer:
            return
        starter_id = starter.shipped_recipe().id
        if any(model.complete and model.name != starter_id for model in models):
            self.dismiss()
        elif self._offer is None and any(model.complete for model in models):
            self._make()

    def _make(self) -> None:
        # Here, since a start without an offer needs none of it.
        from app.model_manager import offer
        from mtplx_engine.models import machine

        self._offer = offer.estimate(machine.this())
        self.changed.emit()

    def _download_changed(self, _row: DownloadRow) -> None:
        self._asking = False
        if self._offer is not None:
            self.changed.emit()


def _on_its_way(row: DownloadRow) -> FirstFace:
    from app.model_manager import download_faces

    after = row.error.message if row.error is not None else download_faces.progress(row)
    why = tr("On its way. Go on chatting meanwhile.")
    return FirstFace(row.title, why, after, download_faces.fraction(row))
