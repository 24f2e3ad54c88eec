"""The line above the transcript: which chat, which model, and how far the model is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme import SPACE_S, SPACE_XS
from app.translate import tr
from app.widgets.icon_button import IconButton
from app.widgets.loading_bar import LoadingBar
from app.widgets.menu_button import MenuButton

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    from app.theme import Theme

_HEIGHT = 48
_TITLE_PX, _MODEL_PX = 14, 13


class Header(QWidget):
    """The chat's title, the model's button with its menu, and a thin bar that is always there."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sidebar_button = IconButton(theme, "sidebar", tr("Hide the sidebar"), size=20, side=32)
        self.title = MenuButton(theme, self)
        self.title.setFont(theme.font(_TITLE_PX, QFont.Weight.DemiBold))
        self.model = MenuButton(theme, self)
        self.model.setFont(theme.figures_font(_MODEL_PX))
        self.inspector_button = IconButton(theme, "inspector", tr("Show the inspector"), size=20, side=32)
        self.bar = LoadingBar(theme, self)
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_S, 0, SPACE_S, 0)
        row.setSpacing(SPACE_XS)
        row.addWidget(self.sidebar_button)
        row.addWidget(self.title)
        row.addStretch(1)
        row.addWidget(self.model)
        row.addWidget(self.inspector_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row, 1)
        layout.addWidget(self.bar)
        self.setFixedHeight(_HEIGHT)

    def set_menus(self, chat: QMenu, model: QMenu) -> None:
        """Open `chat` from the title, and `model` from the model's name."""
        self.title.setMenu(chat)
        self.model.setMenu(model)

    def set_title(self, title: str) -> None:
        """Show the chat's title; an empty chat has none."""
        self.title.setText(title)
        self.title.setAccessibleName(tr("Chat: {title}").format(title=title))
        self.title.setVisible(bool(title))

    def set_model(self, text: str, fraction: float | None = None) -> None:
        """Show the model's name, or what is being loaded with how much of it, 0..1."""
        self.model.setText(text)
        self.model.setAccessibleName(tr("Model: {text}").format(text=text))
        self.bar.set_fraction(fraction)
