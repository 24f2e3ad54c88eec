"""The downloads, at the lower edge of the window while there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.model_manager.card import DownloadCard
from app.model_manager.card_list import CardList
from app.theme import SPACE_S, SPACE_XL
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.model_manager.manager import ModelManager
    from app.theme import Theme

_SHOWN, _SHARE = 3, 3  # rows before the strip scrolls, and the part of a low window that it takes: one third


class DownloadStrip(QWidget):
    """Follows the manager.

    Attributes:
        list: The rows.
        resume_all: Goes on with all that is halted, where that is more than one.
        clear_all: Takes all that is done off the list, where that is more than one.
    """

    def __init__(self, theme: Theme, manager: ModelManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fetching = manager.fetching
        self.setObjectName("downloadStrip")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.list = CardList(theme, tr("Downloads"), row=DownloadCard)
        self.resume_all = self._button(tr("Resume All"), manager.fetching.resume_all)
        self.clear_all = self._button(tr("Clear All"), manager.fetching.clear_all)
        self._all = QWidget()
        together = QHBoxLayout(self._all)
        together.setContentsMargins(SPACE_XL, SPACE_S, SPACE_XL, 0)
        together.addStretch(1)
        together.addWidget(self.resume_all)
        together.addWidget(self.clear_all)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._all)
        column.addWidget(self.list)
        self.list.chosen.connect(manager.fetching.act)
        self.list.remedy_chosen.connect(manager.help_download)

    def refresh(self) -> None:
        """Show what is known now, in as much room as that needs and the window has."""
        fetching = self._fetching
        faces, halted, done = fetching.faces, len(fetching.halted) > 1, len(fetching.done) > 1
        self.setVisible(bool(faces))
        self.list.show_faces(faces)
        self.resume_all.setVisible(halted)
        self.clear_all.setVisible(done)
        self._all.setVisible(halted or done)
        self.fit()

    def fit(self) -> None:
        """Take the height of the first rows, or less in a low window."""
        heights = [card.sizeHint().height() for card in self.list.cards.values()]
        above = 0 if self._all.isHidden() else self._all.sizeHint().height()
        wanted = above + sum(heights[:_SHOWN]) + 2 * SPACE_S + 1
        least = above + sum(heights[:1]) + 2 * SPACE_S + 1
        self.setFixedHeight(min(wanted, max(least, self.window().height() // _SHARE)))

    def _button(self, words: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName("quiet")
        button.clicked.connect(act)
        return button
