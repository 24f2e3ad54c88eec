"""The list of chats in the sidebar: model, view and painting of its rows."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelection,
    QItemSelectionModel,
    QLocale,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.chat.conversation import TITLE_LIMIT, title_from
from app.chat.validation import shown_ms
from app.i18n import tr
from app.theme import RADIUS, SMALL_PX, SPACE_M, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QMouseEvent

    from app.chat.conversation import ChatSummary
    from app.theme import Theme


Index = QModelIndex | QPersistentModelIndex

_Flag = QItemSelectionModel.SelectionFlag
_SELECTING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
_CHAT_HEIGHT, _HEADING_HEIGHT, _FIRST_HEADING_HEIGHT = 32, 38, 28
_TEXT_PX = 13
_ICON = 16
_DOT = 3.5


class ChatRole(IntEnum):
    """Item roles beside the display text."""

    CHAT_ID = Qt.ItemDataRole.UserRole  # "" for a heading
    BUSY = Qt.ItemDataRole.UserRole + 1  # whether it has a pending answer
    PINNED = Qt.ItemDataRole.UserRole + 2


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    chat_id: str = ""


def heading(updated_ms: int, now: datetime) -> str:
    """Return the heading of a chat last updated at a time, at the local time `now`."""
    moment = datetime.fromtimestamp(shown_ms(updated_ms) / 1000, tz=now.tzinfo)
    days = (now.date() - moment.date()).days
    names = ((0, tr("Today")), (1, tr("Yesterday")), (7, tr("Previous 7 Days")), (30, tr("Previous 30 Days")))
    for limit, name in names:
        if days <= limit:
            return name
    month = QLocale().standaloneMonthName(moment.month)
    return month if moment.year == now.year else f"{month} {moment.year}"


def _local_time() -> datetime:
    return datetime.now().astimezone()


class ChatList(QAbstractListModel):
    """List model of headings and chats; only differing rows change, so that selection and scrolling stay.

    Signals:
        renamed(str, str): Id of a chat, and its new title from the editor.
        regrouping: Rows are about to be inserted and removed.
        regrouped: They have been.
    """

    renamed = Signal(str, str)
    regrouping = Signal()
    regrouped = Signal()

    def __init__(self, parent: QObject | None = None, clock: Callable[[], datetime] = _local_time) -> None:
        super().__init__(parent)
        self._clock = clock
        self._chats: dict[str, ChatSummary] = {}
        self._busy: frozenset[str] = frozenset()
        self._rows: list[_Row] = []

    def put(self, *chats: ChatSummary) -> None:
        self._chats.update((chat.id, chat) for chat in chats)
        self.refresh()

    def remove(self, *chat_ids: str) -> None:
        """Remove chats, listed or not."""
        for chat_id in chat_ids:
            self._chats.pop(chat_id, None)
        self.refresh()

    def set_busy(self, chat_ids: Iterable[str]) -> None:
        self._busy = frozenset(chat_ids)
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def chat(self, chat_id: str) -> ChatSummary | None:
        return self._chats.get(chat_id)

    def chat_ids(self) -> tuple[str, ...]:
        return tuple(row.chat_id for row in self._rows if row.chat_id)

    def index_of(self, chat_id: str) -> QModelIndex:
        """Return the index of a chat, invalid when it is not listed."""
        for number, row in enumerate(self._rows):
            if chat_id and row.chat_id == chat_id:
                return self.index(number)
        return QModelIndex()

    def refresh(self) -> None:
        """Group again, after a change of a chat or of the day."""
        self.regrouping.emit()
        self._change_to(self._grouped(self._clock()))
        self.regrouped.emit()

    def _change_to(self, rows: list[_Row]) -> None:
        old = self._rows
        head = _common(old, rows)
        tail = min(_common(old[::-1], rows[::-1]), len(old) - head, len(rows) - head)
        if len(old) - tail > head:
            self.beginRemoveRows(QModelIndex(), head, len(old) - tail - 1)
            self._rows = old[:head] + old[len(old) - tail :]
            self.endRemoveRows()
        if len(rows) - tail > head:
            self.beginInsertRows(QModelIndex(), head, len(rows) - tail - 1)
            self._rows = rows
            self.endInsertRows()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        busy = row.chat_id in self._busy
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return tr("{title}, answering").format(title=row.text) if busy else row.text
        chat = self._chats.get(row.chat_id)
        values: dict[int, Any] = {
            Qt.ItemDataRole.DisplayRole: row.text,
            Qt.ItemDataRole.EditRole: row.text,
            # Escaped: a tooltip takes whatever looks like HTML as HTML.
            Qt.ItemDataRole.ToolTipRole: f"<qt>{html.escape(row.text)}</qt>" if row.chat_id else None,
            ChatRole.CHAT_ID: row.chat_id,
            ChatRole.BUSY: busy,
            ChatRole.PINNED: chat is not None and chat.pinned,
        }
        return values.get(role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make chats selectable, and headings not."""
        if not index.isValid() or not self._rows[index.row()].chat_id:
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable | flag.ItemNeverHasChildren

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        title = title_from(value) if isinstance(value, str) and value.strip() else ""
        chat_id = index.data(ChatRole.CHAT_ID)
        if role != Qt.ItemDataRole.EditRole or not chat_id or title in ("", index.data()):
            return False
        self.renamed.emit(chat_id, title)
        return True

    def _grouped(self, now: datetime) -> list[_Row]:
        rows: list[_Row] = []
        group = ""
        for chat in sorted(self._chats.values(), key=lambda chat: (not chat.pinned, -chat.updated_ms, chat.id)):
            name = tr("Pinned") if chat.pinned else heading(chat.updated_ms, now)
            if name != group:
                rows.append(_Row(name))
                group = name
            rows.append(_Row(chat.title, chat.id))
        return rows


def _common(left: list[_Row], right: list[_Row]) -> int:
    """Return the length of the common prefix."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


class ChatListView(QListView):
    """The list of chats. A click or Return opens one; with Shift or Ctrl several are selected, to be deleted together.

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
        self._selected_before: tuple[str, ...] = ()  # a regrouping
        set_up_row_list(self, theme, tr("Chats"))
        self.setModel(chats)
        self.setItemDelegate(ChatRowDelegate(theme, self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        # Qt would select a neighbour of a removed row.
        chats.regrouping.connect(self._note_selection)
        chats.regrouped.connect(self._select_again)

    def show_chosen(self, chat_id: str) -> None:
        """Select the shown chat; "" for one that is not listed yet."""
        self._shown = chat_id
        self._select((chat_id,))

    def chat_at_cursor(self) -> str:
        """Return the id of the current chat, "" for none."""
        return self.currentIndex().data(ChatRole.CHAT_ID) or ""

    def selected(self) -> tuple[str, ...]:
        """Return the ids of the selected chats, from top to bottom."""
        rows = sorted(index.row() for index in self.selectedIndexes())
        return tuple(self._chats.index(row).data(ChatRole.CHAT_ID) for row in rows)

    def rename(self, chat_id: str) -> None:
        """Edit the title in the chat's row."""
        index = self._chats.index_of(chat_id)
        if index.isValid():
            self.selectionModel().setCurrentIndex(index, _Flag.ClearAndSelect)
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
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
            self._select((self._shown,))
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        pressed = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.RightButton and pressed in self.selectedIndexes():
            return
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        chat_id = index.data(ChatRole.CHAT_ID)
        picking = bool(event.modifiers() & _SELECTING)
        if not chat_id or event.button() != Qt.MouseButton.LeftButton or picking:
            return
        around_bin = ChatRowDelegate.bin_rect(self.visualRect(index)).adjusted(-6, -6, 6, 6)
        if around_bin.contains(event.position().toPoint()):
            self._delete((chat_id,))
        else:
            self.chosen.emit(chat_id)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        chat_id = index.data(ChatRole.CHAT_ID)
        on_title = not ChatRowDelegate.bin_rect(self.visualRect(index)).contains(event.position().toPoint())
        if chat_id and event.button() == Qt.MouseButton.LeftButton and on_title:
            self.rename(chat_id)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_keyboard = event.reason() == event.Reason.Keyboard
        index = self.currentIndex() if by_keyboard else self.indexAt(event.pos())
        chat_id = index.data(ChatRole.CHAT_ID)
        if chat_id:
            point = self.visualRect(index).center() if by_keyboard else event.pos()
            self.menu_for(chat_id).popup(self.viewport().mapToGlobal(point))

    def menu_for(self, chat_id: str) -> QMenu:
        """Return the menu of a chat, or of all selected chats where it is one of several."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        several = self.selected()
        if len(several) > 1 and chat_id in several:
            title = tr("Delete {count} Chats").format(count=len(several))
            menu.addAction(title, lambda: self._delete(several))
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

    def _note_selection(self) -> None:
        several = self.selected()
        self._selected_before = several if len(several) > 1 else (self._shown,)

    def _select_again(self) -> None:
        left = tuple(chat_id for chat_id in self._selected_before if self._chats.chat(chat_id) is not None)
        self._select(left if len(left) > 1 else (self._shown,))

    def _select(self, chat_ids: tuple[str, ...]) -> None:
        indexes = [self._chats.index_of(chat_id) for chat_id in chat_ids if chat_id]
        selection = QItemSelection()
        for index in indexes:
            if index.isValid():
                selection.select(index, index)
        model = self.selectionModel()
        model.setCurrentIndex(indexes[0] if indexes else QModelIndex(), _Flag.NoUpdate)
        model.select(selection, _Flag.ClearAndSelect)


class ChatRowDelegate(QStyledItemDelegate):
    """Paints headings, and chats with a dot while an answer is pending and a bin icon while hovered."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        if index.data(ChatRole.CHAT_ID):
            return QSize(0, _CHAT_HEIGHT)
        return QSize(0, _HEADING_HEIGHT if index.row() else _FIRST_HEADING_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.data(ChatRole.CHAT_ID):
            self._paint_chat(painter, option, index)
        else:
            self._paint_heading(painter, option, index)
        painter.restore()

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        room = self.bin_rect(option.rect).left() - SPACE_S - option.rect.left() - SPACE_M  # type: ignore[attr-defined]
        font = QFontMetrics(self._theme.font(_TEXT_PX, QFont.Weight.Medium))
        if font.horizontalAdvance(index.data() or "") <= room:
            QToolTip.hideText()
            return True
        return super().helpEvent(event, view, option, index)

    def createEditor(self, parent: QWidget, _option: QStyleOptionViewItem, _index: Index) -> QWidget:
        field = QLineEdit(parent)
        field.setAccessibleName(tr("Name of the chat"))
        field.setMaxLength(TITLE_LIMIT)
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _index: Index) -> None:
        editor.setGeometry(option.rect.adjusted(SPACE_XS, 1, -SPACE_XS, -1))  # type: ignore[attr-defined]

    @staticmethod
    def bin_rect(row: QRect) -> QRect:
        return QRect(row.right() - SPACE_M - _ICON, row.center().y() - _ICON // 2 + 1, _ICON, _ICON)

    def _paint_heading(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        area = option.rect.adjusted(SPACE_S + SPACE_XS, 0, -SPACE_M, -SPACE_XS)  # type: ignore[attr-defined]
        painter.setFont(self._theme.font(SMALL_PX, QFont.Weight.Medium))
        painter.setPen(QColor(self._theme.palette.tertiary))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, index.data())

    def _paint_chat(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        palette, row, state = self._theme.palette, option.rect, option.state  # type: ignore[attr-defined]
        if state & QStyle.StateFlag.State_Editing:
            return
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        pointed_at = bool(state & QStyle.StateFlag.State_MouseOver)
        paint_row_background(painter, self._theme, row.adjusted(0, 1, 0, -1), state)
        mark = self.bin_rect(row)
        if pointed_at:
            scale = max(round(painter.device().devicePixelRatioF()), 1)
            icon = self._theme.icons.pixmap("trash", palette.secondary, _ICON, scale)
            painter.drawPixmap(mark, icon)
        elif index.data(ChatRole.BUSY):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.accent))
            painter.drawEllipse(QPointF(mark.center()), _DOT, _DOT)
        right = mark.left() - SPACE_S if pointed_at or index.data(ChatRole.BUSY) else row.right() - SPACE_M
        area = QRect(row.left() + SPACE_M, row.top(), right - row.left() - SPACE_M, row.height())
        painter.setFont(self._theme.font(_TEXT_PX, QFont.Weight.Medium if chosen else QFont.Weight.Normal))
        painter.setPen(QColor(palette.text))
        title = painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)


def set_up_row_list(view: QListView, theme: Theme, name: str) -> None:
    """Give a list of the sidebar its accessible name and its look: no editing by click, no horizontal scroll bar."""
    view.setObjectName("chats")
    view.setAccessibleName(name)
    view.setMouseTracking(True)
    view.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    theme.changed.connect(view.viewport().update)


def paint_row_background(painter: QPainter, theme: Theme, area: QRect, state: QStyle.StateFlag) -> None:
    """Paint a row as selected, hovered, or with the keyboard focus."""
    palette = theme.palette
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.selected if selected else palette.hover)
        painter.drawRoundedRect(area, RADIUS, RADIUS)
    if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange:
        painter.setPen(QColor(palette.accent))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area.adjusted(0, 0, -1, -1), RADIUS, RADIUS)
