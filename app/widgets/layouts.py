"""Layouts: flow, column, reading order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)

from app.theme import COLUMN_WIDTH, SPACE_L, SPACE_M, SPACE_XL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class FlowLayout(QLayout):
    """Fills lines from the left, or from the right.

    Args:
        parent: The widget that is laid out.
        spacing: Pixels between neighbours and between lines.
        right: Whether each line ends at the right edge.
    """

    def __init__(self, parent: QWidget, spacing: int, *, right: bool = False) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._right = right
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        """Take an item at the end."""
        self._items.append(item)

    def count(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item, or None behind the last one."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # type: ignore[override]  # None ends Qt's loops
        """Give an item away."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Want no more room than there must be."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Grow higher as it gets narrower."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        lines = self._lines(width)
        heights = [max(item.sizeHint().height() for item in line) for line in lines]
        return sum(heights) + self.spacing() * max(0, len(heights) - 1)

    def sizeHint(self) -> QSize:
        """Return the size of the largest item: less does not do."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """Return the size of the largest item."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        y = rect.y()
        for line in self._lines(rect.width()):
            sizes = [
                item.sizeHint().boundedTo(QSize(rect.width(), item.sizeHint().height())) for item in line
            ]
            used = sum(size.width() for size in sizes) + self.spacing() * (len(line) - 1)
            x = rect.right() + 1 - used if self._right else rect.x()
            for item, size in zip(line, sizes, strict=True):
                item.setGeometry(QRect(x, y, size.width(), size.height()))
                x += size.width() + self.spacing()
            y += max(size.height() for size in sizes) + self.spacing()

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        lines: list[list[QLayoutItem]] = []
        left = -1
        for item in self._items:
            needed = item.sizeHint().width() + self.spacing()
            if needed - self.spacing() > left or not lines:
                lines.append([])
                left = width
            lines[-1].append(item)
            left -= needed
        return lines


_WIDEST = COLUMN_WIDTH + 2 * SPACE_L  # cards have their text as far in


class ColumnArea(QScrollArea):
    """Empty until `fill`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def fill(self, parts: Iterable[QWidget]) -> None:
        """Put widgets below each other."""
        inner = QWidget()
        inner.setMaximumWidth(_WIDEST)
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_M)
        for part in parts:
            column.addWidget(part)
        column.addStretch(1)
        body = QWidget()
        row = QHBoxLayout(body)
        row.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_XL)
        row.addWidget(inner, 1)
        self.setWidget(body)


class ReadingOrder:
    """Keeps that order in a window whose parts come and go.

    Args:
        window: The window; what is in its layouts stands there in the order in which it is read.
    """

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._order: list[QWidget] = []

    def keep(self) -> None:
        """Put the order right again, where it has changed."""
        order = list(_in_order(self._window))
        if order != self._order:
            self._order = order
            for former, following in pairwise(order):
                QWidget.setTabOrder(former, following)


def _in_order(widget: QWidget) -> Iterator[QWidget]:
    """Yield a widget and those in it, as they are read, as far as Tab may stop at them."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield widget
    inner = widget.widget() if isinstance(widget, QScrollArea) else None
    if inner is not None:
        yield from _in_order(inner)
    elif (layout := widget.layout()) is not None:
        yield from _in_layout(layout)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if isinstance(item, QLayout):
            yield from _in_layout(item)
        elif isinstance(item, QWidgetItem):
            yield from _in_order(item.widget())
