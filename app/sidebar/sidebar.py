"""The sidebar: search field, list of chats or search results, and buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.i18n import tr
from app.sidebar.chat_list import ChatListView
from app.sidebar.found_list import FoundList, FoundView
from app.storage.search_index import QUERY_LIMIT
from app.theme import SPACE_M, SPACE_S
from app.widgets.feedback import announce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.matching import FoundChat
    from app.sidebar.chat_list import ChatList
    from app.theme import Theme


_PAUSE_MS = 60  # so that a word typed fast is searched for once
_ICON = 16


class SearchField(QLineEdit):
    """Line edit with a search icon, and a clear button once it has text.

    Signals:
        searched(str): The query has changed, "" for none.
        entered: Return was pressed, to open the first result.
        left_down: The down arrow was pressed, to go to the results.
    """

    searched = Signal(str)
    entered = Signal()
    left_down = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("search")
        self.setAccessibleName(tr("Search all chats"))
        self.setPlaceholderText(tr("Search"))
        self.setMaxLength(QUERY_LIMIT)
        self._glass = self.addAction(self._icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self._cross = self.addAction(self._icon("close"), QLineEdit.ActionPosition.TrailingPosition)
        self._cross.setVisible(False)
        self._cross.setToolTip(tr("Clear the search"))
        self._cross.triggered.connect(self.clear)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._search)
        self.textChanged.connect(self._changed)
        self.returnPressed.connect(self.entered)
        theme.changed.connect(self._tint)

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the menus while there is text to clear."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride and self.text():
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.left_down.emit()
        else:
            super().keyPressEvent(event)

    def _changed(self, text: str) -> None:
        self._cross.setVisible(bool(text))
        # The chats are back at once.
        self._pause.start(_PAUSE_MS if text.strip() else 0)

    def _search(self) -> None:
        self.searched.emit(" ".join(self.text().split()))

    def _tint(self) -> None:
        self._glass.setIcon(self._icon("search"))
        self._cross.setIcon(self._icon("close"))

    def _icon(self, name: str) -> QIcon:
        palette = self._theme.palette
        return self._theme.icons.icon(name, palette.tertiary, palette.tertiary, _ICON)


WIDTH = 232


class Sidebar(QWidget):
    """The chats by date or, during a search, its results.

    Signals:
        chosen(str): Open a chat.
        passage_chosen(str, str): Open a chat at a message.
        searched(str): Search for a query; `show_found` is called with the result.
        deletion_requested(tuple): Delete the chats of these ids.
        pin_requested(str): Pin or unpin a chat.
        export_requested(str): Export a chat.
    """

    chosen = Signal(str)
    passage_chosen = Signal(str, str)
    searched = Signal(str)
    deletion_requested = Signal(object)
    pin_requested = Signal(str)
    export_requested = Signal(str)
    new_chat_requested = Signal()
    models_requested = Signal()
    speed_requested = Signal()

    def __init__(self, theme: Theme, chats: ChatList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._query = ""
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(WIDTH)
        self.search = SearchField(theme, self)
        self.list = ChatListView(theme, chats, self)
        self._results = FoundList(self)
        self.found = FoundView(theme, self._results, self)
        self._nothing = self._make_nothing()
        self._pages = QStackedWidget(self)
        for page in (self.list, self.found, self._nothing):
            self._pages.addWidget(page)
        self.new_button = self._quiet_button(tr("New chat"))
        self.models_button = self._quiet_button(tr("Models"))
        self.speed_button = self._quiet_button(tr("Speed"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_S, SPACE_M, SPACE_S, SPACE_S)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self.search)
        layout.addWidget(self._pages, 1)
        foot = QHBoxLayout()
        foot.setSpacing(0)
        foot.addWidget(self.models_button, 1)
        foot.addWidget(self.speed_button, 1)
        below = QVBoxLayout()
        below.setSpacing(0)
        below.addWidget(self.new_button)
        below.addLayout(foot)
        layout.addLayout(below)
        self._connect()
        self._tint()

    def show_chosen(self, chat_id: str) -> None:
        """Select the shown chat; "" for one that is not listed yet."""
        self.list.show_chosen(chat_id)

    def focus_search(self) -> None:
        """Focus the search field with its text selected."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def show_found(self, query: str, chats: Sequence[FoundChat]) -> None:
        """Show the results for `query`, unless the query has changed."""
        if query != self._query:
            return
        self._results.show(chats)
        self.found.scrollToTop()
        self._pages.setCurrentWidget(self.found if chats else self._nothing)
        text = tr("{count} chats found") if chats else tr("Nothing found")
        announce(self.search, text.format(count=len(chats)))

    def search_again(self) -> None:
        """Repeat the search, because the chats have changed."""
        if self._query:
            self.searched.emit(self._query)

    def _connect(self) -> None:
        chats, search = self.list, self.search
        chats.chosen.connect(self.chosen)
        chats.deletion_requested.connect(self.deletion_requested)
        chats.pin_requested.connect(self.pin_requested)
        chats.export_requested.connect(self.export_requested)
        search.searched.connect(self._search)
        search.left_down.connect(self._go_down)
        search.entered.connect(lambda: self.found.open(self._results.index(0)))
        self.found.chosen.connect(self.passage_chosen)
        self.found.left_up.connect(search.setFocus)
        self.new_button.clicked.connect(self.new_chat_requested)
        self.models_button.clicked.connect(self.models_requested)
        self.speed_button.clicked.connect(self.speed_requested)
        self._theme.changed.connect(self._tint)

    def _search(self, query: str) -> None:
        self._query = query
        if query:
            self.searched.emit(query)
        else:
            self._results.show(())
            self._pages.setCurrentWidget(self.list)

    def _go_down(self) -> None:
        page = self._pages.currentWidget()
        if page is self.found:
            self.found.setCurrentIndex(self._results.index(0))
        if page is not self._nothing:
            page.setFocus(Qt.FocusReason.TabFocusReason)

    def _make_nothing(self) -> QWidget:
        page = QWidget(self)
        label = QLabel(tr("Nothing found"), page)
        label.setProperty("tone", "secondary")
        clear = QPushButton(tr("Clear the search"), page)
        clear.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        clear.clicked.connect(self.search.clear)
        layout = QVBoxLayout(page)
        layout.setSpacing(SPACE_M)
        layout.addStretch(1)
        layout.addWidget(label, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(clear, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(2)
        return page

    def _quiet_button(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName("quiet")
        button.setIconSize(QSize(_ICON, _ICON))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _tint(self) -> None:
        palette = self._theme.palette
        buttons = {"new-chat": self.new_button, "model": self.models_button, "speed": self.speed_button}
        for icon, button in buttons.items():
            button.setIcon(self._theme.icons.icon(icon, palette.secondary, palette.tertiary, _ICON))
