"""Where the chats are, and how to have them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.settings_window.page import Page
from app.theme import SPACE_S
from app.translate import tr

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QAction

    from app.theme import Theme


class ChatsPage(Page):
    """The folder of the chats and its backups."""

    def __init__(self, theme: Theme, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._folder = folder
        place = self._words(str(folder))
        self.add_widget(tr("Kept in"), place)
        self.add_note(tr("On this computer only. While MTPLX runs, no other program should open the file."))
        self.show_folder = self._button(tr("Show Folder"))
        self.show_folder.clicked.connect(self._open_folder)
        self.export = self._button(tr("Export All Chats…"))
        buttons = QWidget(self)
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(self.show_folder)
        row.addWidget(self.export)
        row.addStretch(1)
        self.add_widget("", buttons)
        self.add_widget(tr("Backups"), self._words(tr("One each day, the last seven are kept")))
        self.add_note(
            tr("Beside the chats, in the folder “backups”. Each is opened and checked when it is made.")
        )
        self.end()

    def follow(self, export: QAction) -> None:
        """Let the button do what a command of the menus does, while that can act."""
        self.export.clicked.connect(export.trigger)
        self.export.setEnabled(export.isEnabled())
        export.enabledChanged.connect(self.export.setEnabled)

    def _button(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
