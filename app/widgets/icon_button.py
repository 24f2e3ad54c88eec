"""A button that is only an icon, with a name for people who cannot see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QToolButton, QWidget

if TYPE_CHECKING:
    from app.theme import Theme


class IconButton(QToolButton):
    """A flat button with one of our icons; the label is its tooltip and its accessible name."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        label: str,
        *,
        color: str = "secondary",
        size: int = 16,
        side: int = 28,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon_name = icon
        self._color = color
        self.setIconSize(QSize(size, size))
        self.setFixedSize(side, side)
        # Reached with the keyboard; a click leaves the focus where the person types.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.set_face(icon, label, color)
        theme.restyling.add(self._tint)

    def set_face(self, icon: str, label: str, color: str | None = None) -> None:
        """Show another icon with another label; `color` names a field of the palette."""
        self._icon_name = icon
        self._color = color or self._color
        self.setToolTip(label)
        self.setAccessibleName(label)
        self._tint()

    def _tint(self) -> None:
        palette = self._theme.palette
        color = getattr(palette, self._color)
        self.setIcon(
            self._theme.icons.icon(self._icon_name, color, palette.tertiary, self.iconSize().width())
        )
