"""The chats as a list model: pinned ones first, then the newest, under headings like "Today"."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QLocale, QModelIndex, QPersistentModelIndex, Qt, Signal

from app.chat.bounds import shown_ms
from app.chat.conversation import title_from
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtCore import QObject

    from app.chat.conversation import ChatSummary

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
