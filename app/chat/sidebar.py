"""The list of chats at the left edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QPushButton, QVBoxLayout, QWidget

from app.chat.chat_list import ChatList, ChatRole
from app.chat.chat_rows import ChatRowDelegate
from app.theme import SPACE_M, SPACE_S

if TYPE_CHECKING:
    from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent

    from app.theme import Theme

WIDTH = 232


class ChatListView(QListView):
    """The chats; a click or Return opens one, the bin or Delete deletes one.

    Signals:
        chosen: A chat is to be shown.
        deletion_requested: A chat is to be deleted.
    """

    chosen = Signal(str)
    deletion_requested = Signal(str)

    def __init__(self, theme: Theme, chats: ChatList, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chats")
        self.setAccessibleName("Chats")
        self.setModel(chats)
        self.setItemDelegate(ChatRowDelegate(theme, self))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        theme.changed.connect(self.viewport().update)

    def chat_at_cursor(self) -> str:
        """Return the id of the chosen chat, "" when there is none."""
        return self.currentIndex().data(ChatRole.CHAT_ID) or ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Return, delete with Delete; the arrows move as usual."""
        chat_id = self.chat_at_cursor()
        if chat_id and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(chat_id)
        elif chat_id and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.deletion_requested.emit(chat_id)
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open the chat under the pointer, or delete it when its bin was meant."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        chat_id = index.data(ChatRole.CHAT_ID)
        if not chat_id or event.button() != Qt.MouseButton.LeftButton:
            return
        around_bin = ChatRowDelegate.bin_rect(self.visualRect(index)).adjusted(-6, -6, 6, 6)
        if around_bin.contains(event.position().toPoint()):
            self.deletion_requested.emit(chat_id)
        else:
            self.chosen.emit(chat_id)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the chat under the pointer."""
        chat_id = self.indexAt(event.pos()).data(ChatRole.CHAT_ID)
        if chat_id:
            menu = QMenu(self)
            menu.addAction("Open", lambda: self.chosen.emit(chat_id))
            menu.addAction("Delete", lambda: self.deletion_requested.emit(chat_id))
            menu.exec(event.globalPos())


class Sidebar(QWidget):
    """The chats by date, and the button for a new one.

    Signals:
        chosen: A chat is to be shown.
        deletion_requested: A chat is to be deleted.
        new_chat_requested: An empty chat is to be shown.
    """

    chosen = Signal(str)
    deletion_requested = Signal(str)
    new_chat_requested = Signal()

    def __init__(self, theme: Theme, chats: ChatList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chats = chats
        self._shown = ""
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(WIDTH)
        self.list = ChatListView(theme, chats, self)
        self.list.chosen.connect(self.chosen)
        self.list.deletion_requested.connect(self.deletion_requested)
        self.new_button = QPushButton("New chat", self)
        self.new_button.setObjectName("quiet")
        self.new_button.setIconSize(QSize(16, 16))
        self.new_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.new_button.clicked.connect(self.new_chat_requested)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_S, SPACE_M, SPACE_S, SPACE_S)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.new_button)
        # Qt marks a neighbour of what was removed, and knows nothing of what is shown.
        chats.rowsInserted.connect(self._select_shown)
        chats.rowsRemoved.connect(self._select_shown)
        theme.changed.connect(self._tint)
        self._tint()

    def show_chosen(self, chat_id: str) -> None:
        """Mark the chat that is shown; "" for one that is not on the list yet."""
        self._shown = chat_id
        self._select_shown()

    def _select_shown(self) -> None:
        index = self._chats.index_of(self._shown) if self._shown else QModelIndex()
        flag = QItemSelectionModel.SelectionFlag
        self.list.selectionModel().setCurrentIndex(index, flag.ClearAndSelect)

    def _tint(self) -> None:
        palette = self._theme.palette
        self.new_button.setIcon(self._theme.icons.icon("new-chat", palette.secondary, palette.tertiary, 16))
