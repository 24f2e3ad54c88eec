"""List models of chats and of search results."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractListModel,
    QLocale,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolTip, QWidget

from app.chat.conversation import TITLE_LIMIT, title_from
from app.chat.validation import shown_ms
from app.i18n import tr
from app.theme import RADIUS, SMALL_PX, SPACE_M, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QHelpEvent
    from PySide6.QtWidgets import QAbstractItemView

    from app.chat.conversation import ChatSummary
    from app.chat.matching import FoundChat, Passage
    from app.theme import Theme


_Index = QModelIndex | QPersistentModelIndex


class ChatRole(IntEnum):
    """What a row tells beside its text."""

    CHAT_ID = Qt.ItemDataRole.UserRole  # "" for a heading
    BUSY = Qt.ItemDataRole.UserRole + 1  # whether an answer is being written in it
    PINNED = Qt.ItemDataRole.UserRole + 2


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    chat_id: str = ""


def heading(updated_ms: int, now: datetime) -> str:
    """Return the heading under which a chat of that time stands at the local time `now`."""
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
    """Rows of headings and chats; only what differs is changed, so that selection and scrolling stay.

    Args:
        parent: Owns it.
        clock: Returns the local time.

    Signals:
        renamed(str, str): Id of a chat, and the title that somebody has typed for it.
        regrouping: Rows are about to come and go.
        regrouped: They have.
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
        """Add chats, or show their new titles and times."""
        self._chats.update((chat.id, chat) for chat in chats)
        self.refresh()

    def remove(self, *chat_ids: str) -> None:
        """Take chats off the list; they need not be on it."""
        for chat_id in chat_ids:
            self._chats.pop(chat_id, None)
        self.refresh()

    def set_busy(self, chat_ids: Iterable[str]) -> None:
        """Mark the chats in which an answer is being written or waits."""
        self._busy = frozenset(chat_ids)
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def chat(self, chat_id: str) -> ChatSummary | None:
        """Return the chat with that id, when it is on the list."""
        return self._chats.get(chat_id)

    def chat_ids(self) -> tuple[str, ...]:
        """Return the ids of the chats, in the order in which they are listed."""
        return tuple(row.chat_id for row in self._rows if row.chat_id)

    def index_of(self, chat_id: str) -> QModelIndex:
        """Return the place of a chat, invalid when it is not on the list."""
        for number, row in enumerate(self._rows):
            if chat_id and row.chat_id == chat_id:
                return self.index(number)
        return QModelIndex()

    def refresh(self) -> None:
        """Group anew, because a chat changed or the day did."""
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

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Count headings and chats."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text, the id, whether it is busy, or what a screen reader says."""
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

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Let chats be chosen, and headings not."""
        if not index.isValid() or not self._rows[index.row()].chat_id:
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable | flag.ItemNeverHasChildren

    def setData(self, index: _Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Take a title that somebody has typed; one without words changes nothing."""
        title = title_from(value) if isinstance(value, str) and value.strip() else ""
        chat_id = index.data(ChatRole.CHAT_ID)
        if role != Qt.ItemDataRole.EditRole or not chat_id or title in ("", index.data()):
            return False
        self.renamed.emit(chat_id, title)
        return True

    def _grouped(self, now: datetime) -> list[_Row]:
        rows: list[_Row] = []
        group = ""
        for chat in sorted(
            self._chats.values(), key=lambda chat: (not chat.pinned, -chat.updated_ms, chat.id)
        ):
            name = tr("Pinned") if chat.pinned else heading(chat.updated_ms, now)
            if name != group:
                rows.append(_Row(name))
                group = name
            rows.append(_Row(chat.title, chat.id))
        return rows


def _common(left: list[_Row], right: list[_Row]) -> int:
    """Return how many rows are the same from the start."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


class FoundRole(IntEnum):
    """What a row tells beside its text."""

    CHAT_ID = Qt.ItemDataRole.UserRole
    PASSAGE = Qt.ItemDataRole.UserRole + 1  # its message is "" for the chat itself


@dataclass(frozen=True, slots=True)
class _FoundRow:
    chat_id: str
    passage: Passage


class FoundList(QAbstractListModel):
    """Rows of chats and passages, in the order in which they were found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[_FoundRow, ...] = ()

    def show(self, chats: Sequence[FoundChat]) -> None:
        """List what another search has found."""
        self.beginResetModel()
        self._rows = tuple(
            _FoundRow(found.chat.id, passage) for found in chats for passage in (found.title, *found.passages)
        )
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Count chats and passages."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text, the chat's id or the passage."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        values: dict[int, Any] = {
            Qt.ItemDataRole.DisplayRole: row.passage.text,
            FoundRole.CHAT_ID: row.chat_id,
            FoundRole.PASSAGE: row.passage,
        }
        return values.get(role)


_CHAT_HEIGHT, _HEADING_HEIGHT, _FIRST_HEADING_HEIGHT = 32, 38, 28
_TEXT_PX = 13
_ICON = 16
_DOT = 3.5


class ChatRowDelegate(QStyledItemDelegate):
    """Headings small and quiet, chats with a dot while they are answered and a bin while pointed at."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Give headings room above."""
        if index.data(ChatRole.CHAT_ID):
            return QSize(0, _CHAT_HEIGHT)
        return QSize(0, _HEADING_HEIGHT if index.row() else _FIRST_HEADING_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Paint the row of `index`."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.data(ChatRole.CHAT_ID):
            self._paint_chat(painter, option, index)
        else:
            self._paint_heading(painter, option, index)
        painter.restore()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """Show the whole title to a resting pointer when it does not fit."""
        room = self.bin_rect(option.rect).left() - SPACE_S - option.rect.left() - SPACE_M  # type: ignore[attr-defined]
        font = QFontMetrics(self._theme.font(_TEXT_PX, QFont.Weight.Medium))
        if font.horizontalAdvance(index.data() or "") <= room:
            QToolTip.hideText()
            return True
        return super().helpEvent(event, view, option, index)

    def createEditor(
        self, parent: QWidget, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        """Return the field in which a chat is renamed."""
        field = QLineEdit(parent)
        field.setAccessibleName(tr("Name of the chat"))
        field.setMaxLength(TITLE_LIMIT)
        return field

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Let the name stay where it is while it is changed."""
        editor.setGeometry(option.rect.adjusted(SPACE_XS, 1, -SPACE_XS, -1))  # type: ignore[attr-defined]

    @staticmethod
    def bin_rect(row: QRect) -> QRect:
        """Return where in the row's rectangle the bin is."""
        return QRect(row.right() - SPACE_M - _ICON, row.center().y() - _ICON // 2 + 1, _ICON, _ICON)

    def _paint_heading(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        area = option.rect.adjusted(SPACE_S + SPACE_XS, 0, -SPACE_M, -SPACE_XS)  # type: ignore[attr-defined]
        painter.setFont(self._theme.font(SMALL_PX, QFont.Weight.Medium))
        painter.setPen(QColor(self._theme.palette.tertiary))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, index.data())

    def _paint_chat(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        palette, row, state = self._theme.palette, option.rect, option.state  # type: ignore[attr-defined]
        if state & QStyle.StateFlag.State_Editing:
            return
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        pointed_at = bool(state & QStyle.StateFlag.State_MouseOver)
        if chosen or pointed_at:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.selected if chosen else palette.hover)
            painter.drawRoundedRect(row.adjusted(0, 1, 0, -1), RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange:
            painter.setPen(QColor(palette.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(row.adjusted(0, 1, -1, -2), RADIUS, RADIUS)
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
