"""The Models window: three tabs, the details page, and the downloads below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QLabel, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from app.i18n import tr
from app.model_manager.details_page import DetailsPage
from app.model_manager.download_strip import DownloadStrip
from app.model_manager.pages import InstalledPage, RecommendedPage, SearchPage
from app.model_manager.token_dialog import TokenDialog
from app.theme import SMALL_PX
from app.widgets.dialogs import MessageBox
from app.widgets.feedback import announce
from app.widgets.layouts import ReadingOrder
from app.widgets.tabs import PageTabs
from app.widgets.throttle import Throttle
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.model_manager.controller import ModelsWindowController
    from app.theme import Theme
    from mtplx_engine.models.folders import InstalledModel


_SIZE, _LEAST = (860, 600), (720, 440)
_REFRESH_MS = 100


class ModelsWindow(QWidget):
    """The only Models window.

    Args:
        free_bytes: Returns the free bytes of the models folder's disk, None while it is not connected.
    """

    def __init__(
        self,
        theme: Theme,
        controller: ModelsWindowController,
        free_bytes: Callable[[], int | None],
        token_lasts: Callable[[], bool],
    ) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._theme = theme
        self.controller = controller
        self._free_bytes = free_bytes
        self._token_lasts = token_lasts
        self.setObjectName("modelsWindow")
        self.setWindowTitle(tr("Models"))
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.setMinimumSize(*_LEAST)
        self.resize(*_SIZE)
        self.recommended = RecommendedPage(theme, controller)
        self.search = SearchPage(theme, controller)
        self.installed = InstalledPage(theme, controller)
        self.details = DetailsPage(theme, controller)
        self.strip = DownloadStrip(theme, controller)
        self._pages = QStackedWidget()
        for page in (*self._all(), self.details):
            self._pages.addWidget(page)
        self.tabs = PageTabs(theme, (tr("Recommended"), tr("Search"), tr("Installed")), self)
        self.tabs.turned.connect(self._turn)
        self._room = QLabel()
        self._room.setProperty("tone", "secondary")
        self._room.setFont(theme.tabular_font(SMALL_PX))
        self.tabs.add_at_end(self._room)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._pages, 1)
        column.addWidget(self.strip)
        self._reading = ReadingOrder(self)
        self._refreshes = Throttle(_REFRESH_MS, self)
        self._refreshes.due.connect(self._refresh)
        controller.changed.connect(self._refreshes.request)
        controller.choice_wanted.connect(lambda: self.open_tab(self.recommended))
        controller.installed.removal_wanted.connect(self._ask_removal)
        controller.installed.forgetting_wanted.connect(self._ask_forgetting)
        controller.installed.failed.connect(self._say)
        controller.arrived.connect(self._announce)
        controller.token_wanted.connect(self._ask_token)
        controller.details_wanted.connect(self._show_details)
        self.details.left.connect(self._leave_details)
        QShortcut(QKeySequence("Ctrl+W"), self).activated.connect(self.close)
        QShortcut(QKeySequence("Esc"), self).activated.connect(self._go_back)
        self._refresh()

    def open_tab(self, place: QWidget | None = None) -> None:
        """Come to the front, at this page or the last one."""
        if place is not None:
            self.tabs.choose(self._all().index(place))
        self.controller.open()
        self.show()
        self.raise_()
        self.activateWindow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.strip.fit()

    def ask_anew(self) -> None:
        """Drop what the hub has said; it is asked again now, or when the window is opened."""
        self.controller.forget_hub()
        if self.isVisible():
            self.controller.open()

    def _all(self) -> tuple[RecommendedPage, SearchPage, InstalledPage]:
        return (self.recommended, self.search, self.installed)

    def _turn(self, index: int) -> None:
        self._pages.setCurrentIndex(index)
        to = self.search.field if self._all()[index] is self.search else self.tabs.buttons[index]
        to.setFocus()

    def _show_details(self, repo_id: str) -> None:
        self.details.show_repo(repo_id)
        self._pages.setCurrentWidget(self.details)
        self.details.back.setFocus()

    def _leave_details(self) -> None:
        self._pages.setCurrentIndex(self.tabs.chosen)

    def _go_back(self) -> None:
        if self._pages.currentWidget() is self.details:
            self._leave_details()
        else:
            self.close()

    def _refresh(self) -> None:
        for page in (*self._all(), self.details):
            page.refresh()
        self.strip.refresh()
        self._reading.keep()
        models = self.controller.installed.models
        name = tr("Installed") if models is None else tr("Installed ({count})").format(count=len(models))
        self.tabs.rename(self._all().index(self.installed), name)
        free = self._free_bytes()
        self._room.setText(
            tr("Models folder not connected")
            if free is None
            else tr("Disk {size} free").format(size=formatting.size(free))
        )

    def _ask_token(self) -> None:
        controller = self.controller
        host = QUrl(controller.endpoint()).host()
        dialog = TokenDialog(self._theme, controller.hub, host, lasts=self._token_lasts(), parent=self)
        dialog.accepted.connect(self.controller.retry_refused)
        dialog.open()

    def _announce(self, title: str) -> None:
        announce(self, tr("{title} is installed.").format(title=title))

    def _say(self, sentence: str) -> None:
        box = MessageBox(tr("That cannot be done"), sentence, self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _ask_removal(self, model: InstalledModel) -> None:
        library = self.controller.library
        sentences = [
            tr("It is loaded: it is unloaded first, and an answer in progress stops.")
            if library.is_in_use(model.path)
            else "",
            tr("{size} become free. It can be downloaded again.").format(size=formatting.size(model.size)),
        ]
        question = tr("Delete {title}?").format(title=model.title)
        more = " ".join(sentence for sentence in sentences if sentence)
        self._ask(question, more, tr("Delete"), lambda: library.remove(model.path))

    def _ask_forgetting(self, folder: Path) -> None:
        count = len(self.controller.installed.models_in(folder))
        one = tr("Its model is listed no more. Nothing in it is changed, and it can be added again.")
        many = tr("Its {count} models are listed no more. Nothing in it is changed, and it can be added again.")
        self._ask(
            tr("Take {folder} off the list?").format(folder=folder),
            one if count == 1 else many.format(count=count),
            tr("Take Off"),
            lambda: self.controller.library.forget_folder(folder),
        )

    def _ask(self, question: str, more: str, button: str, act: Callable[[], None]) -> None:
        """Ask for confirmation, and call `act` if the button is pressed."""
        box = MessageBox(question, more, self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.addButton(button, QMessageBox.ButtonRole.DestructiveRole).clicked.connect(act)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.open()
