"""The line above the transcript: which chat, which model, and how far the model is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.theme import SPACE_S
from app.widgets.elided_label import ElidedLabel
from app.widgets.icon_button import IconButton
from app.widgets.loading_bar import LoadingBar

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    from app.theme import Theme

_HEIGHT = 48
_TITLE_PX = 14


class Header(QWidget):
    """The chat's title, the model's button with its menu, and a thin bar that is always there."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.sidebar_button = IconButton(theme, "sidebar", "Hide the sidebar", size=20, side=32)
        self.title = ElidedLabel()
        self.title.setFont(theme.font(_TITLE_PX, QFont.Weight.DemiBold))
        self.model = QPushButton(self)
        self.model.setObjectName("quiet")
        self.model.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.model.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the chevron stands after the name
        self.model.setIconSize(QSize(12, 12))
        self.model.setFont(theme.figures_font(13))
        self.bar = LoadingBar(theme, self)
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_S, 0, SPACE_S, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(self.sidebar_button)
        row.addWidget(self.title, 1)
        row.addWidget(self.model)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row, 1)
        layout.addWidget(self.bar)
        self.setFixedHeight(_HEIGHT)
        theme.changed.connect(self._tint)
        self._tint()

    def set_model_menu(self, menu: QMenu) -> None:
        """Open `menu` from the model's button."""
        self.model.setMenu(menu)

    def set_model(self, text: str, fraction: float | None = None) -> None:
        """Show the model's name, or what is being loaded with how much of it, 0..1."""
        self.model.setText(text)
        self.model.setAccessibleName(f"Model: {text}")
        self.bar.set_fraction(fraction)

    def _tint(self) -> None:
        palette = self._theme.palette
        self.model.setIcon(self._theme.icons.icon("chevron-down", palette.secondary, palette.tertiary, 12))
