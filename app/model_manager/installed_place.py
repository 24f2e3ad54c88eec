"""The models on this computer, also those in folders of the person's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.model_manager.card_list import CardList
from app.theme import SPACE_M, SPACE_S, SPACE_XL
from app.translate import tr

if TYPE_CHECKING:
    from app.model_manager.manager import ModelManager
    from app.theme import Theme


class InstalledPlace(QWidget):
    """Follows the manager.

    Attributes:
        list: The rows.
        add: Asks for a folder of the person's own.
    """

    def __init__(self, theme: Theme, manager: ModelManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = manager.keeper
        self.add = QPushButton(tr("Add a Folder with Models…"))
        self.add.setAccessibleDescription(tr("Models in it are used where they are, and never changed."))
        self.add.setToolTip(self.add.accessibleDescription())
        self.list = CardList(theme, tr("Installed models"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.list, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(SPACE_XL, SPACE_S, SPACE_XL, SPACE_M)
        foot.addWidget(self.add)
        foot.addStretch(1)
        column.addLayout(foot)
        self.add.clicked.connect(self._choose_folder)
        self.list.chosen.connect(self._keeper.act)
        self.list.remedy_chosen.connect(self._keeper.help)

    def refresh(self) -> None:
        """Show what is known now."""
        if self._keeper.models is None:
            self.list.show_faces((), tr("Looking for models…"))
        else:
            sentence = tr("Get one under Recommended. What another program fetched is found by itself.")
            self.list.show_faces(self._keeper.faces, tr("No models yet"), sentence)

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Folder with models"))
        if folder:
            self._keeper.shelf.add_place(Path(folder))
