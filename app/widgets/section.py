"""A heading, and below it what belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.theme import SMALL_PX, SPACE_XS

if TYPE_CHECKING:
    from app.theme import Theme


class Section(QWidget):
    """A heading, and below it what belongs together.

    Attributes:
        heading: The words above.
    """

    def __init__(self, theme: Theme, heading: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(heading, self)
        self.heading.setFont(theme.font(SMALL_PX, QFont.Weight.DemiBold))
        self.heading.setProperty("tone", "secondary")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_XS)
        self._column.addWidget(self.heading)

    def add(self, *widgets: QWidget) -> None:
        """Put widgets side by side under what is there."""
        row = QHBoxLayout()
        row.setSpacing(SPACE_XS)
        for widget in widgets:
            row.addWidget(widget)
        self._column.addLayout(row)

    def add_stretch(self) -> None:
        """Keep what is there at the top."""
        self._column.addStretch(1)
