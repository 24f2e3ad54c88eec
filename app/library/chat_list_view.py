"""The chats at the left edge, to be opened, renamed, pinned and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QWidget

from app.library.chat_list import ChatList, ChatRole
from app.library.chat_rows import ChatRowDelegate
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent

    from app.theme import Theme

_Flag = QItemSelectionModel.SelectionFlag
_PICKING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class ChatListView(QListView):
    """The chats. A click or Return opens one; with Shift or Ctrl several are selected, to be deleted together.

    Signals:
        chosen(str): A chat is to be shown.
        deletion_requested(tuple): Ids of chats that are to be deleted.
        pin_requested(str): A chat is to be pinned, or not any more.
        export_requested(str): A chat is to be exported.
    """

    chosen = Signal(str)
    deletion_requested = Signal(object)
    pin_requested = Signal(str)
    export_requested = Signal(str)

    def __init__(self, theme: Theme, chats: ChatList, parent: QWidget) -> None:
        super().__init__(parent)
        self._chats = chats
        self._shown = ""
        self._kept: tuple[str, ...] = ()  # selected while rows come and go
        self.setObjectName("chats")
        self.setAccessibleName(tr("Chats"))
        self.setModel(chats)
        self.setItemDelegate(ChatRowDelegate(theme, self))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        theme.changed.connect(self.viewport().update)
        # Qt marks a neighbour of what was removed, and knows nothing of what is shown.
        chats.regrouping.connect(self._keep)
        chats.regrouped.connect(self._select_again)

    def show_chosen(self, chat_id: str) -> None:
        """Mark the chat that is shown; "" for one that is not on the list yet."""
        self._shown = chat_id
        self._mark((chat_id,))

    def chat_at_cursor(self) -> str:
        """Return the id of the chat with the focus, "" when there is none."""
        return self.currentIndex().data(ChatRole.CHAT_ID) or ""

    def selected(self) -> tuple[str, ...]:
        """Return the ids of the chats that are selected, from top to bottom."""
        rows = sorted(index.row() for index in self.selectedIndexes())
        return tuple(self._chats.index(row).data(ChatRole.CHAT_ID) for row in rows)

    def rename(self, chat_id: str) -> None:
        """Let the person type another title in the chat's row."""
        index = self._chats.index_of(chat_id)
        if index.isValid():
            self.selectionModel().setCurrentIndex(index, _Flag.ClearAndSelect)
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Return, rename with F2, delete with Delete; the arrows move and select as usual."""
        chat_id, key = self.chat_at_cursor(), event.key()
        if chat_id and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(chat_id)
        elif chat_id and key == Qt.Key.Key_F2:
            self.rename(chat_id)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._delete(self.selected())
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.selectAll()
        elif key == Qt.Key.Key_Escape and len(self.selected()) > 1:
            self._mark((self._shown,))
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Leave a selection of several as it is when one of them is meant for the menu."""
        pressed = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.RightButton and pressed in self.selectedIndexes():
            return
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open the chat under the pointer, or delete it when its bin was meant."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        chat_id = index.data(ChatRole.CHAT_ID)
        picking = bool(event.modifiers() & _PICKING)
        if not chat_id or event.button() != Qt.MouseButton.LeftButton or picking:
            return
        around_bin = ChatRowDelegate.bin_rect(self.visualRect(index)).adjusted(-6, -6, 6, 6)
        if around_bin.contains(event.position().toPoint()):
            self._delete((chat_id,))
        else:
            self.chosen.emit(chat_id)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Rename; the first of the two clicks has opened the chat."""
        index = self.indexAt(event.position().toPoint())
        chat_id = index.data(ChatRole.CHAT_ID)
        on_title = not ChatRowDelegate.bin_rect(self.visualRect(index)).contains(event.position().toPoint())
        if chat_id and event.button() == Qt.MouseButton.LeftButton and on_title:
            self.rename(chat_id)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the chat under the pointer or the focus, or with all that are selected."""
        by_keyboard = event.reason() == event.Reason.Keyboard
        index = self.currentIndex() if by_keyboard else self.indexAt(event.pos())
        chat_id = index.data(ChatRole.CHAT_ID)
        if chat_id:
            place = self.visualRect(index).center() if by_keyboard else event.pos()
            self.menu_for(chat_id).popup(self.viewport().mapToGlobal(place))

    def menu_for(self, chat_id: str) -> QMenu:
        """Return the menu of a chat; where several are selected and it is one of them, of all of these."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        several = self.selected()
        if len(several) > 1 and chat_id in several:
            words = tr("Delete {count} Chats").format(count=len(several))
            menu.addAction(words, lambda: self._delete(several))
            return menu
        pinned = bool(self._chats.index_of(chat_id).data(ChatRole.PINNED))
        menu.addAction(tr("Open"), lambda: self.chosen.emit(chat_id))
        menu.addAction(tr("Rename"), lambda: self.rename(chat_id))
        menu.addAction(tr("Unpin") if pinned else tr("Pin"), lambda: self.pin_requested.emit(chat_id))
        menu.addAction(tr("Export…"), lambda: self.export_requested.emit(chat_id))
        menu.addSeparator()
        menu.addAction(tr("Delete"), lambda: self._delete((chat_id,)))
        return menu

    def _delete(self, chat_ids: tuple[str, ...]) -> None:
        if chat_ids:
            self.deletion_requested.emit(chat_ids)

    def _keep(self) -> None:
        several = self.selected()
        self._kept = several if len(several) > 1 else (self._shown,)

    def _select_again(self) -> None:
        left = tuple(chat_id for chat_id in self._kept if self._chats.chat(chat_id) is not None)
        self._mark(left if len(left) > 1 else (self._shown,))

    def _mark(self, chat_ids: tuple[str, ...]) -> None:
        indexes = [self._chats.index_of(chat_id) for chat_id in chat_ids if chat_id]
        selection = QItemSelection()
        for index in indexes:
            if index.isValid():
                selection.select(index, index)
        model = self.selectionModel()
        model.setCurrentIndex(indexes[0] if indexes else QModelIndex(), _Flag.NoUpdate)
        model.select(selection, _Flag.ClearAndSelect)
