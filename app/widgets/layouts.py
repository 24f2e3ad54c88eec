"""Layout helpers: rows, columns, lines that wrap, a scrolled column, and the tab order that follows the layout."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
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


Item = QWidget | QLayout | int | tuple[QWidget | QLayout, int]
"""A widget or layout, alone or with its stretch factor; an integer is an empty stretch with that factor."""

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels."""


def hbox(
    *items: Item, parent: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = -1
) -> QHBoxLayout:
    """Return a row of items, as the layout of `parent` if that is given; -1 is the usual spacing of the style."""
    layout = QHBoxLayout(parent) if parent else QHBoxLayout()
    _fill(layout, items, margins, spacing)
    return layout


def vbox(
    *items: Item, parent: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = -1
) -> QVBoxLayout:
    """Return a column of items, as the layout of `parent` if that is given; -1 is the usual spacing of the style."""
    layout = QVBoxLayout(parent) if parent else QVBoxLayout()
    _fill(layout, items, margins, spacing)
    return layout


def _fill(layout: QBoxLayout, items: Iterable[Item], margins: Margins, spacing: int) -> None:
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for each in items:
        item, stretch = each if isinstance(each, tuple) else (each, 0)
        if isinstance(item, int):
            layout.addStretch(item)
        elif isinstance(item, QLayout):
            layout.addLayout(item, stretch)
        else:
            layout.addWidget(item, stretch)


class FlowLayout(QLayout):
    """Lays items out side by side and wraps them into lines; `spacing` is in pixels, between neighbours and lines."""

    def __init__(self, parent: QWidget, spacing: int, *, right: bool = False) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._right = right
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # type: ignore[override]  # None ends Qt's loops
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = self._lines(width)
        heights = [max(item.sizeHint().height() for item in line) for line in lines]
        return sum(heights) + self.spacing() * max(0, len(heights) - 1)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        y = rect.y()
        for line in self._lines(rect.width()):
            sizes = [item.sizeHint().boundedTo(QSize(rect.width(), item.sizeHint().height())) for item in line]
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


_MAX_WIDTH = COLUMN_WIDTH + 2 * SPACE_L  # cards have a padding of SPACE_L


class ColumnArea(QScrollArea):
    """A scroll area with a column of widgets that is no wider than lines should be."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def fill(self, parts: Iterable[QWidget]) -> None:
        """Replace the column by these widgets."""
        inner = QWidget()
        inner.setMaximumWidth(_MAX_WIDTH)
        vbox(*parts, 1, parent=inner, spacing=SPACE_M)
        body = QWidget()
        hbox((inner, 1), parent=body, margins=(SPACE_XL, SPACE_L, SPACE_XL, SPACE_XL))
        self.setWidget(body)


class ReadingOrder:
    """Keeps the tab order of a window equal to its reading order, that of its layouts, while its widgets change."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._order: list[QWidget] = []

    def keep(self) -> None:
        """Set the tab order again if the reading order has changed."""
        order = list(_in_order(self._window))
        if order != self._order:
            self._order = order
            for former, following in pairwise(order):
                QWidget.setTabOrder(former, following)


def _in_order(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widgets at which Tab stops, from `widget` on and in it, in reading order."""
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
