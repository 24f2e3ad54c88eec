"""What is scrolled in a transcript: one column in the middle, and the button that leads to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.theme import COLUMN_WIDTH, SCROLL_BAR_WIDTH, SPACE_L, SPACE_M, SPACE_XL
from app.translate import tr

if TYPE_CHECKING:
    from app.theme import Theme

_ICON = 16


class TranscriptPage(QWidget):
    """Holds a column of rows, as wide as lines should be; few rows stand at its end.

    Attributes:
        column: Takes the rows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("transcriptPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.column = QVBoxLayout()
        self.column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        self.column.setSpacing(SPACE_M)
        self.column.addStretch(1)
        middle = QWidget()
        middle.setLayout(self.column)
        middle.setMaximumWidth(COLUMN_WIDTH + 2 * SPACE_XL)
        across = QHBoxLayout(self)
        across.setContentsMargins(SCROLL_BAR_WIDTH, 0, 0, 0)
        across.addStretch(1)
        across.addWidget(middle, 1000)
        across.addStretch(1)


class LatestButton(QPushButton):
    """Floats above the end of what is seen of a transcript."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(tr("Jump to latest"), parent)
        self._theme = theme
        self.setObjectName("latest")
        self.setIconSize(QSize(_ICON, _ICON))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()
        theme.changed.connect(self._tint)
        self._tint()

    def float_in(self, viewport: QWidget, *, shown: bool) -> None:
        """Take the place above the end of `viewport`."""
        self.setVisible(shown)
        self.adjustSize()
        self.move((viewport.width() - self.width()) // 2, viewport.height() - self.height() - SPACE_M)

    def _tint(self) -> None:
        palette = self._theme.palette
        self.setIcon(self._theme.icons.icon("arrow-down", palette.secondary, palette.tertiary, _ICON))
