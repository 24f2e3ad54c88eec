"""List views of chats and of search results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeySequence,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.i18n import tr
from app.sidebar.list_model import ChatList, ChatRole, ChatRowDelegate, FoundList, FoundRole
from app.theme import RADIUS, SMALL_PX, SPACE_M, SPACE_XS

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent

    from app.chat.matching import Passage
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


_TITLE_PX = 13
_LINES = 2  # of a passage

_Index = QModelIndex | QPersistentModelIndex


class FoundView(QListView):
    """What was found; a click or Return opens it.

    Signals:
        chosen(str, str): Id of a chat to be shown, and of the message to be shown in it, "" for its end.
        left_up: The arrow upwards, from the first row.
    """

    chosen = Signal(str, str)
    left_up = Signal()

    def __init__(self, theme: Theme, found: FoundList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chats")
        self.setAccessibleName(tr("Found in all chats"))
        self.setModel(found)
        self.setItemDelegate(FoundRowDelegate(theme, self))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.clicked.connect(self.open)
        theme.changed.connect(self.viewport().update)

    def open(self, index: QModelIndex) -> None:
        """Have what stands in a row shown."""
        if index.isValid():
            self.setCurrentIndex(index)
            self.chosen.emit(index.data(FoundRole.CHAT_ID), index.data(FoundRole.PASSAGE).message_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Return, leave at the top; the arrows move as usual."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.open(self.currentIndex())
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.left_up.emit()
        else:
            super().keyPressEvent(event)


class FoundRowDelegate(QStyledItemDelegate):
    """The chat's title, and below it passages of two lines, with what was looked for marked."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Give each row the lines that its text takes."""
        view = option.widget  # type: ignore[attr-defined]
        width = view.viewport().width() if isinstance(view, QAbstractItemView) else 0
        passage: Passage = index.data(FoundRole.PASSAGE)
        height = _height(self._theme, passage, _text_area(QRect(0, 0, width, 0)).width())
        above = (SPACE_M if index.row() else SPACE_XS) if not passage.message_id else SPACE_XS
        return QSize(0, height + above + SPACE_XS + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint the row of `index`."""
        palette, row, state = self._theme.palette, option.rect, option.state  # type: ignore[attr-defined]
        passage: Passage = index.data(FoundRole.PASSAGE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        layout = _laid_out(self._theme, passage, _text_area(row).width())
        top = row.bottom() - SPACE_XS - _height(self._theme, passage, _text_area(row).width())
        back = QRect(row.left(), top - SPACE_XS, row.width(), row.bottom() - top + SPACE_XS + 1)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.selected if chosen else palette.hover)
            painter.drawRoundedRect(back, RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange:
            painter.setPen(QColor(palette.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(back.adjusted(0, 0, -1, -1), RADIUS, RADIUS)
        painter.setPen(QColor(palette.secondary if passage.message_id else palette.text))
        layout.draw(painter, QPointF(_text_area(row).left(), top))
        painter.restore()


def _text_area(row: QRect) -> QRect:
    return row.adjusted(SPACE_M, 0, -SPACE_M, 0)


def _font(theme: Theme, passage: Passage) -> QFont:
    if passage.message_id:
        return theme.font(SMALL_PX)
    return theme.font(_TITLE_PX, QFont.Weight.Medium)


def _height(theme: Theme, passage: Passage, width: int) -> int:
    """Return the height of a passage; asked of every row at once, so nothing is laid out for it."""
    metrics = QFontMetrics(_font(theme, passage))
    lines = _LINES if passage.message_id and metrics.horizontalAdvance(passage.text) > width else 1
    return lines * metrics.lineSpacing()


def _laid_out(theme: Theme, passage: Passage, width: int) -> QTextLayout:
    """Return a passage in the lines that it may take, its marks bold and tinted; what is too long ends in "…"."""
    layout, end = _lines(theme, passage, passage.text, width)
    text = passage.text
    while end < _units(text):
        text = _first_units(text, end - 1).rstrip(" …") + "…"
        layout, end = _lines(theme, passage, text, width)
    return layout


def _lines(theme: Theme, passage: Passage, text: str, width: int) -> tuple[QTextLayout, int]:
    """Return the lines that there is room for, and how many UTF-16 units of `text` are in them."""
    font = _font(theme, passage)
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.setFormats(_marks(theme, passage))
    layout.beginLayout()
    top, end = 0.0, 0
    for _ in range(_LINES if passage.message_id else 1):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(width, 1))
        line.setPosition(QPointF(0, top))
        top += QFontMetrics(font).lineSpacing()
        end = line.textStart() + line.textLength()
    layout.endLayout()
    return layout, end


def _marks(theme: Theme, passage: Passage) -> list[QTextLayout.FormatRange]:
    ranges = []
    for start, end in passage.marks:
        piece: Any = QTextLayout.FormatRange()  # the stubs know nothing of its fields
        # Qt counts in UTF-16.
        piece.start = _units(passage.text[:start])
        piece.length = _units(passage.text[start:end])
        piece.format = QTextCharFormat()
        piece.format.setForeground(QColor(theme.palette.text))
        piece.format.setBackground(theme.palette.accepted)
        piece.format.setFontWeight(QFont.Weight.DemiBold)
        ranges.append(piece)
    return ranges


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _first_units(text: str, count: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * max(count, 0)].decode("utf-16-le", "ignore")
