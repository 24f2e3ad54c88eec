"""What a search has found, as a list model: each chat, and below it what was said in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QObject

    from app.chat.found_chat import FoundChat, Passage

_Index = QModelIndex | QPersistentModelIndex


class FoundRole(IntEnum):
    """What a row tells beside its text."""

    CHAT_ID = Qt.ItemDataRole.UserRole
    PASSAGE = Qt.ItemDataRole.UserRole + 1  # its message is "" for the chat itself


@dataclass(frozen=True, slots=True)
class _Row:
    chat_id: str
    passage: Passage


class FoundList(QAbstractListModel):
    """Rows of chats and passages, in the order in which they were found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[_Row, ...] = ()

    def show(self, chats: Sequence[FoundChat]) -> None:
        """List what another search has found."""
        self.beginResetModel()
        self._rows = tuple(
            _Row(found.chat.id, passage) for found in chats for passage in (found.title, *found.passages)
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
