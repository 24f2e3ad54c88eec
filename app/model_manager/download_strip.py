"""The strip of downloads at the lower edge of the Models window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.i18n import tr
from app.model_manager.card import CardList, DownloadCard
from app.theme import SPACE_S, SPACE_XL

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.model_manager.controller import ModelsWindowController
    from app.theme import Theme


_SHOWN, _SHARE = 3, 3  # rows before the strip scrolls, and the part of a low window that it takes: one third


class DownloadStrip(QWidget):
    """Lists the downloads; hidden while there are none."""

    def __init__(self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._installed = controller.installed
        self.setObjectName("downloadStrip")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.list = CardList(theme, tr("Downloads"), row=DownloadCard)
        self.resume_all = self._button(tr("Resume All"), controller.installed.resume_all)
        self.clear_all = self._button(tr("Clear All"), controller.installed.clear_all)
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
        self.list.chosen.connect(controller.installed.act_on_download)
        self.list.remedy_chosen.connect(controller.help_download)

    def refresh(self) -> None:
        """Show the current rows, in a height that suits them and the window."""
        models = self._installed
        rows, halted, done = models.download_rows, len(models.halted) > 1, len(models.done) > 1
        self.setVisible(bool(rows))
        self.list.show_rows(rows)
        self.resume_all.setVisible(halted)
        self.clear_all.setVisible(done)
        self._all.setVisible(halted or done)
        self.fit()

    def fit(self) -> None:
        """Take the height of the first three rows, or less in a low window."""
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
