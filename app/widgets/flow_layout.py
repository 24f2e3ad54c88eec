"""Widgets side by side, in as many lines as the width asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


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
