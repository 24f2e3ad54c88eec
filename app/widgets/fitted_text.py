"""A read-only text browser without scroll bars, as high as its text."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QScrollArea, QSizePolicy, QTextBrowser

from app.render.blocks import is_allowed
from app.render.plain_text import text_between

if TYPE_CHECKING:
    from PySide6.QtWidgets import QScrollBar, QWidget

    from app.render.style import RenderStyle


_SCROLL_MARGIN = 24
_BY_KEYBOARD = frozenset(
    {
        Qt.FocusReason.TabFocusReason,
        Qt.FocusReason.BacktabFocusReason,
        Qt.FocusReason.ShortcutFocusReason,
    }
)
_SELECTING = frozenset(
    {
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
    }
)


class InertDocument(QTextDocument):
    """A document that loads no resources: a QTextDocument reads files even where its browser refuses to."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Load nothing, whatever the text asks for."""


class FittedText(QTextBrowser):
    """A text browser as high as its text, which loads no resources and follows no links itself.

    Signals:
        link_activated(QUrl): A link to the web or to a mail address was clicked or chosen with Return.
    """

    link_activated = Signal(QUrl)
    height_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shows_focus = False
        self.setDocument(InertDocument(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setCursorWidth(0)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)
        self.anchorClicked.connect(self._activate)
        # QTextEdit widens these ranges when it lays out before the width is final, and the text would stay shifted.
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.rangeChanged.connect(partial(_pin, bar))

    def scroll_area(self) -> QScrollArea | None:
        parent = self.parentWidget()
        while parent is not None and not isinstance(parent, QScrollArea):
            parent = parent.parentWidget()
        return parent

    def fit(self) -> None:
        height = max(1, math.ceil(self.content_height()))
        if height != self.minimumHeight():
            self.setFixedHeight(height)
            self.height_changed.emit(height)

    def content_height(self) -> float:
        return self.document().size().height()

    def take_colors(self, style: RenderStyle) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Link, QColor(style.accent))
        palette.setColor(QPalette.ColorRole.Text, QColor(style.text))
        palette.setColor(QPalette.ColorRole.Highlight, QColor(style.selection))
        palette.setColor(QPalette.ColorRole.HighlightedText, QColor(style.text))
        self.setPalette(palette)

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Load nothing, whatever the text asks for."""

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor = self.textCursor()
        data = QMimeData()
        data.setText(text_between(self.document(), cursor.selectionStart(), cursor.selectionEnd()))
        return data

    def keyPressEvent(self, event: QKeyEvent) -> None:
        extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and event.key() in _SELECTING
        copies = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
        opens = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.textCursor().charFormat().isAnchor()
        if extends or copies or opens:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        area = self.scroll_area()
        if area is not None and event.buttons() & Qt.MouseButton.LeftButton:
            point = self.mapTo(area.widget(), event.position().toPoint())
            area.ensureVisible(self.mapTo(area.widget(), self.rect().center()).x(), point.y(), 0, _SCROLL_MARGIN)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._shows_focus = event.reason() in _BY_KEYBOARD
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._shows_focus = False
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._shows_focus:
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Link), 1))
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the text out again if the width has changed.

        QTextEdit would do so with every change of the height, which is with every line.
        """
        QAbstractScrollArea.resizeEvent(self, event)
        width = self.viewport().width()
        if width != self.document().textWidth():
            self.document().setTextWidth(width)
            self.laid_out()

    def laid_out(self) -> None:
        """Adapt to other line breaks; for subclasses to extend."""
        self.fit()

    def _activate(self, url: QUrl) -> None:
        if is_allowed(url.toString()):
            self.link_activated.emit(url)


def _pin(bar: QScrollBar, *_range: int) -> None:
    if bar.maximum() > 0:
        bar.setRange(0, 0)
