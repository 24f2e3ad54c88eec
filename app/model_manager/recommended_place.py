"""The models that we recommend, and above them the one to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.model_manager.card_list import CardList
from app.model_manager.face import Action
from app.model_manager.fault import show_fault
from app.model_manager.first_model import OfferCard
from app.theme import SPACE_L, SPACE_XL
from app.translate import tr
from app.widgets.error_card import ErrorCard

if TYPE_CHECKING:
    from app.model_manager.controller import ModelsWindowController
    from app.theme import Theme


class RecommendedPlace(QWidget):
    """Follows the controller.

    Attributes:
        offer: The card with the model to begin with.
        trouble: Why the hub cannot be asked.
        list: The rows.
    """

    def __init__(
        self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self.offer = OfferCard(theme)
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.pressed.connect(controller.help_way)
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
        self.offer.accepted.connect(lambda offered: controller.fetch_and_load(offered.repo_id))
        self.offer.details_wanted.connect(
            lambda offered: controller.act_on_repo(offered.repo_id, Action.DETAILS)
        )
        self.list.chosen.connect(controller.act_on_repo)
        self.list.remedy_chosen.connect(controller.help_repo)

    def refresh(self) -> None:
        """Show what is known now."""
        offered, fault = self._controller.offer, self._controller.trouble
        show_fault(self.trouble, fault)
        self.offer.show_offer(offered)
        edge = SPACE_L if offered is not None or fault is not None else 0
        self._above.setContentsMargins(SPACE_XL, edge, SPACE_XL, edge // 2)
        taken = offered.repo_id if offered is not None else ""
        self.list.show_rows(tuple(row for row in self._controller.recommended if row.key != taken))
