"""The three tabs of the Models window: search, recommended and installed models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.i18n import tr
from app.model_manager.card import CardList
from app.model_manager.first_model import OfferCard
from app.model_manager.row_state import Action, show_fault
from app.model_manager.rows import SIZES, Filters
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL
from app.widgets.buttons import ChoiceButton
from app.widgets.cards import ErrorCard

if TYPE_CHECKING:
    from PySide6.QtGui import QIcon

    from app.model_manager.controller import ModelsWindowController
    from app.theme import Theme


_PAUSE_MS = 500  # of no typing before a search, which is a request to the hub
_ICON, _FIELD_HEIGHT, _LONGEST = 16, 30, 200
_SIZE_WIDTH = 130
_SEEN_MS = 300  # for which rows must be in sight before they are inspected
_MOST_SEEN = 12


class SearchPage(QWidget):
    """Searches the hub, and filters the results."""

    def __init__(self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._controller = controller
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Search models"))
        self.field.setPlaceholderText(tr("Search models, as in “qwen 4b”"))
        self.field.setMaxLength(_LONGEST)
        self.field.setMinimumHeight(_FIELD_HEIGHT)
        self._glass = self.field.addAction(self._icon(), QLineEdit.ActionPosition.LeadingPosition)
        self.fitting = self._filter(tr("Fits this computer"))
        self.drafting = self._filter(tr("Has or can get a drafting head"))
        self._bytes: int | None = None
        self.largest = ChoiceButton(theme, tr("Size"))
        self.largest.setFixedWidth(_SIZE_WIDTH)
        self.largest.chosen.connect(self._limit)
        self._progress = QLabel()
        self._progress.setProperty("tone", "secondary")
        self._progress.setFont(theme.tabular_font(SMALL_PX))
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.hide()
        self.trouble.pressed.connect(controller.help_search)
        self.list = CardList(theme, tr("Found models"))
        self.list.chosen.connect(controller.act_on_repo)
        self.list.remedy_chosen.connect(controller.help_repo)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._search)
        self._seen = QTimer(self, singleShot=True, interval=_SEEN_MS)
        self._seen.timeout.connect(self._inspect_visible)
        self.list.moved.connect(self._seen.start)
        self.field.textEdited.connect(self._pause.start)
        self.field.returnPressed.connect(self._search)
        theme.changed.connect(lambda: self._glass.setIcon(self._icon()))
        self._lay_out()
        self._limit(None)

    @property
    def filters(self) -> Filters:
        return Filters(self.fitting.isChecked(), self.drafting.isChecked(), self._bytes)

    def refresh(self) -> None:
        controller = self._controller
        if self.filters:
            controller.inspect_hits()
        show_fault(self.trouble, controller.search_fault or controller.lookups.trouble)
        rows = controller.searched(self.filters)
        self._progress.setText(self._progress_text())
        before = list(self.list.cards)
        self.list.show_rows(() if controller.search_fault is not None else rows, *self._empty_text())
        if list(self.list.cards) != before:
            self._seen.start()

    def _inspect_visible(self) -> None:
        if self.isVisible() and not self.filters and not self._controller.searching:
            self._controller.inspect_visible(self.list.in_sight()[:_MOST_SEEN])

    def _progress_text(self) -> str:
        hits = self._controller.hits
        if self._controller.searching and hits is not None:
            return tr("Searching…")
        inspected = self._controller.inspected_hits
        if hits and self.filters and inspected < len(hits):
            return tr("Looking at {count} of {all}…").format(count=inspected + 1, all=len(hits))
        odd = self._controller.odd_hits
        if odd and hits is not None:
            words = tr("1 odd entry left out") if odd == 1 else tr("{count} odd entries left out")
            return words.format(count=odd)
        return ""

    def _empty_text(self) -> tuple[str, str]:
        """Return title and sentence for an empty list."""
        controller = self._controller
        if controller.search_fault is not None:
            return "", ""
        if controller.hits is None:
            if controller.searching:
                return tr("Searching…"), ""
            sentence = tr("Models in MLX form are found, the most used ones first. Nothing is sent but the words.")
            return tr("Find a model"), sentence
        if controller.hits:
            return tr("Nothing left"), tr("None of what was found passes the filters above.")
        return tr("Nothing found"), tr("No model in MLX form has these words in its name.")

    def _search(self) -> None:
        self._pause.stop()
        words = " ".join(self.field.text().split())
        if words:
            self._controller.search(words)

    def _limit(self, largest: object) -> None:
        self._bytes = largest if isinstance(largest, int) else None
        sizes = [(size, tr("Up to {size} GB").format(size=size // 1_000_000_000)) for size in SIZES]
        self.largest.set_choices([(None, tr("Any size")), *sizes], self._bytes)
        self.refresh()

    def _filter(self, words: str) -> QCheckBox:
        box = QCheckBox(words)
        box.setAccessibleName(words)
        box.toggled.connect(self.refresh)
        return box

    def _lay_out(self) -> None:
        filters = QHBoxLayout()
        filters.setSpacing(SPACE_L)
        filters.addWidget(self.fitting)
        filters.addWidget(self.drafting)
        filters.addWidget(self.largest)
        filters.addStretch(1)
        filters.addWidget(self._progress, 0, Qt.AlignmentFlag.AlignRight)
        top = QVBoxLayout()
        top.setContentsMargins(SPACE_XL, SPACE_M, SPACE_XL, SPACE_S)
        top.setSpacing(SPACE_S)
        top.addWidget(self.field)
        top.addLayout(filters)
        top.addWidget(self.trouble)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.list, 1)

    def _icon(self) -> QIcon:
        palette = self._theme.palette
        return self._theme.icons.icon("search", palette.tertiary, palette.tertiary, _ICON)


class RecommendedPage(QWidget):
    """The recommended models, with the offer of a first one."""

    def __init__(self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller = controller
        self.offer = OfferCard(theme)
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.pressed.connect(controller.help_connection)
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
        self.offer.details_wanted.connect(lambda offered: controller.act_on_repo(offered.repo_id, Action.DETAILS))
        self.list.chosen.connect(controller.act_on_repo)
        self.list.remedy_chosen.connect(controller.help_repo)

    def refresh(self) -> None:
        offered, fault = self._controller.offer, self._controller.trouble
        show_fault(self.trouble, fault)
        self.offer.show_offer(offered)
        edge = SPACE_L if offered is not None or fault is not None else 0
        self._above.setContentsMargins(SPACE_XL, edge, SPACE_XL, edge // 2)
        taken = offered.repo_id if offered is not None else ""
        self.list.show_rows(tuple(row for row in self._controller.recommended if row.key != taken))


class InstalledPage(QWidget):
    """The installed models."""

    def __init__(self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None) -> None:
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
        if self._installed.models is None:
            self.list.show_rows((), tr("Looking for models…"))
        else:
            sentence = tr("Get one under Recommended. What another program fetched is found by itself.")
            self.list.show_rows(self._installed.rows, tr("No models yet"), sentence)

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Folder with models"))
        if folder:
            self._library.add_folder(Path(folder))
