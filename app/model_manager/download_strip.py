"""The downloads, at the lower edge of the window while there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.model_manager.card_list import CardList
from app.theme import SPACE_S
from app.translate import tr

if TYPE_CHECKING:
    from app.model_manager.manager import ModelManager
    from app.theme import Theme

_SHOWN = 3  # rows before the strip scrolls


class DownloadStrip(QWidget):
    """Follows the manager.

    Attributes:
        list: The rows.
    """

    def __init__(self, theme: Theme, manager: ModelManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._manager = manager
        self.setObjectName("downloadStrip")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.list = CardList(theme, tr("Downloads"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.list)
        self.list.chosen.connect(manager.act_on_download)
        self.list.remedy_chosen.connect(manager.help_download)

    def refresh(self) -> None:
        """Show what is known now, in as much room as that needs."""
        faces = self._manager.downloading
        self.setVisible(bool(faces))
        self.list.show_faces(faces)
        heights = [card.sizeHint().height() for card in self.list.cards.values()]
        self.setFixedHeight(sum(heights[:_SHOWN]) + 2 * SPACE_S + 1)
