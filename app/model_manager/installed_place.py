"""The models on this computer, also those in folders of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.model_manager.card_list import CardList
from app.theme import SPACE_M, SPACE_S, SPACE_XL
from app.translate import tr

if TYPE_CHECKING:
    from app.model_manager.controller import ModelsWindowController
    from app.theme import Theme


class InstalledPlace(QWidget):
    """Follows the controller.

    Attributes:
        list: The rows.
        add: Asks for a folder of the user's own.
    """

    def __init__(
        self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._library = controller.library
        self._installed = controller.installed
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
        self.list.chosen.connect(self._installed.act)
        self.list.remedy_chosen.connect(self._installed.help)

    def refresh(self) -> None:
        """Show what is known now."""
        if self._installed.models is None:
            self.list.show_rows((), tr("Looking for models…"))
        else:
            sentence = tr("Get one under Recommended. What another program fetched is found by itself.")
            self.list.show_rows(self._installed.rows, tr("No models yet"), sentence)

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Folder with models"))
        if folder:
            self._library.add_place(Path(folder))
