"""The search results in the sidebar: model, view and painting of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.i18n import tr
from app.sidebar.chat_list import paint_row_background, set_up_row_list
from app.theme import SMALL_PX, SPACE_M, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QKeyEvent

    from app.chat.matching import FoundChat, Passage
    from app.sidebar.chat_list import Index
    from app.theme import Theme


_TITLE_PX = 13
_LINES = 2  # of an excerpt


class FoundRole(IntEnum):
    """Item roles beside the display text."""

    CHAT_ID = Qt.ItemDataRole.UserRole
    PASSAGE = Qt.ItemDataRole.UserRole + 1  # its message is "" for the chat itself


@dataclass(frozen=True, slots=True)
class _FoundRow:
    chat_id: str
    passage: Passage


class FoundList(QAbstractListModel):
    """List model of found chats, each followed by its excerpts."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[_FoundRow, ...] = ()

    def show(self, chats: Sequence[FoundChat]) -> None:
        self.beginResetModel()
        self._rows = tuple(
            _FoundRow(found.chat.id, passage) for found in chats for passage in (found.title, *found.passages)
        )
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        values: dict[int, Any] = {
            Qt.ItemDataRole.DisplayRole: row.passage.text,
            FoundRole.CHAT_ID: row.chat_id,
            FoundRole.PASSAGE: row.passage,
        }
        return values.get(role)


class FoundView(QListView):
    """The list of search results; a click or Return opens one.

    Signals:
        chosen(str, str): Id of a chat to open, and of the message to scroll to, "" for its end.
        left_up: The up arrow was pressed in the first row.
    """

    chosen = Signal(str, str)
    left_up = Signal()

    def __init__(self, theme: Theme, found: FoundList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_up_row_list(self, theme, tr("Found in all chats"))
        self.setModel(found)
        self.setItemDelegate(FoundRowDelegate(theme, self))
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.clicked.connect(self.open)

    def open(self, index: QModelIndex) -> None:
        if index.isValid():
            self.setCurrentIndex(index)
            self.chosen.emit(index.data(FoundRole.CHAT_ID), index.data(FoundRole.PASSAGE).message_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.open(self.currentIndex())
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.left_up.emit()
        else:
            super().keyPressEvent(event)


class FoundRowDelegate(QStyledItemDelegate):
    """Paints the title of a chat, and excerpts of up to two lines, with the matches marked."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        view = option.widget  # type: ignore[attr-defined]
        width = view.viewport().width() if isinstance(view, QAbstractItemView) else 0
        passage: Passage = index.data(FoundRole.PASSAGE)
        height = _height(self._theme, passage, _text_area(QRect(0, 0, width, 0)).width())
        above = (SPACE_M if index.row() else SPACE_XS) if not passage.message_id else SPACE_XS
        return QSize(0, height + above + SPACE_XS + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        palette, row, state = self._theme.palette, option.rect, option.state  # type: ignore[attr-defined]
        passage: Passage = index.data(FoundRole.PASSAGE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        layout = _laid_out(self._theme, passage, _text_area(row).width())
        top = row.bottom() - SPACE_XS - _height(self._theme, passage, _text_area(row).width())
        back = QRect(row.left(), top - SPACE_XS, row.width(), row.bottom() - top + SPACE_XS + 1)
        paint_row_background(painter, self._theme, back, state)
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
    """Return the height of an excerpt without a layout, since it is called for all rows at once."""
    metrics = QFontMetrics(_font(theme, passage))
    lines = _LINES if passage.message_id and metrics.horizontalAdvance(passage.text) > width else 1
    return lines * metrics.lineSpacing()


def _laid_out(theme: Theme, passage: Passage, width: int) -> QTextLayout:
    """Return the layout of an excerpt with bold, tinted matches; a too long one ends in "…"."""
    layout, end = _lines(theme, passage, passage.text, width)
    text = passage.text
    while end < _units(text):
        text = _first_units(text, end - 1).rstrip(" …") + "…"
        layout, end = _lines(theme, passage, text, width)
    return layout


def _lines(theme: Theme, passage: Passage, text: str, width: int) -> tuple[QTextLayout, int]:
    """Return the layout of the first lines, and the number of UTF-16 units of `text` in them."""
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
        piece: Any = QTextLayout.FormatRange()  # its fields are missing in the stubs
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
