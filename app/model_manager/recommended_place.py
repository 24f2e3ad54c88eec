"""The models that we recommend, and above them the one to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.model_manager.card_list import CardList
from app.model_manager.face import Action
from app.model_manager.fault import show_fault
from app.model_manager.offer_card import OfferCard
from app.theme import SPACE_L, SPACE_XL
from app.translate import tr
from app.widgets.error_card import ErrorCard

if TYPE_CHECKING:
    from app.model_manager.manager import ModelManager
    from app.theme import Theme


class RecommendedPlace(QWidget):
    """Follows the manager.

    Attributes:
        offer: The card with the model to begin with.
        trouble: Why the hub cannot be asked.
        list: The rows.
    """

    def __init__(self, theme: Theme, manager: ModelManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._manager = manager
        self.offer = OfferCard(theme)
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.pressed.connect(manager.help_way)
        self.list = CardList(theme, tr("Recommended models"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._above = QVBoxLayout()
        self._above.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        self._above.addWidget(self.trouble)
        self._above.addWidget(self.offer)
        column.addLayout(self._above)
        column.addWidget(self.list, 1)
        self.offer.accepted.connect(lambda offered: manager.wishes.fetch_and_load(offered.repo_id))
        self.offer.details_wanted.connect(
            lambda offered: manager.act_on_repo(offered.repo_id, Action.DETAILS)
        )
        self.list.chosen.connect(manager.act_on_repo)
        self.list.remedy_chosen.connect(manager.help_repo)

    def refresh(self) -> None:
        """Show what is known now."""
        offered, fault = self._manager.offer, self._manager.trouble
        show_fault(self.trouble, fault)
        self.offer.show_offer(offered)
        edge = SPACE_L if offered is not None or fault is not None else 0
        self._above.setContentsMargins(SPACE_XL, edge, SPACE_XL, edge // 2)
        taken = offered.repo_id if offered is not None else ""
        self.list.show_faces(tuple(face for face in self._manager.recommended if face.key != taken))
