"""How a row of the sidebar is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.chat.conversation import TITLE_LIMIT
from app.library.chat_list import ChatRole
from app.theme import RADIUS, SMALL_PX, SPACE_M, SPACE_S, SPACE_XS
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtGui import QHelpEvent
    from PySide6.QtWidgets import QAbstractItemView

    from app.theme import Theme

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
