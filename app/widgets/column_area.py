"""A page that scrolls: one column of a readable width, in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.theme import COLUMN_WIDTH, SPACE_L, SPACE_M, SPACE_XL

if TYPE_CHECKING:
    from collections.abc import Iterable

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
