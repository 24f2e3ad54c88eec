"""The list of what a search has found, and how its rows are painted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.library.found_list import FoundList, FoundRole
from app.theme import RADIUS, SMALL_PX, SPACE_M, SPACE_XS
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QWidget

    from app.chat.found_chat import Passage
    from app.theme import Theme

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
