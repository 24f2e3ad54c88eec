"""One of several things: the chosen one in a frame, the others in a menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QActionGroup, QColor, QPainter
from PySide6.QtWidgets import QMenu, QSizePolicy

from app.theme import RADIUS
from app.widgets.menu_button import MenuButton

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme


class ChoiceButton(MenuButton):
    """A pop-up button, as wide as there is room.

    Signals:
        chosen: The value that was chosen.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._name = name
        self._menu = QMenu(self)
        self._menu.setAccessibleName(name)
        self.setMenu(self._menu)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._group = QActionGroup(self)
        self.set_choices((), None)

    def set_choices(self, choices: Iterable[tuple[object, str]], chosen: object, text: str = "") -> None:
        """Offer values, each with what it is called.

        Args:
            choices: The values and their names.
            chosen: The one that holds.
            text: What the button says, when that is not the chosen one's name.
        """
        for action in self._group.actions():
            self._menu.removeAction(action)
            self._group.removeAction(action)
            action.deleteLater()
        for value, name in choices:
            action = self._menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            # Not as the action's data: Qt would turn an enum into its text.
            action.triggered.connect(lambda *_, value=value: self.chosen.emit(value))
            self._group.addAction(action)
            if value == chosen and type(value) is type(chosen):
                action.setChecked(True)
                text = text or name
        self.setText(text)
        self.setAccessibleName(f"{self._name}: {text}")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint a frame, and in it what every menu button shows."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.palette.border))
        painter.setBrush(QColor(self._theme.palette.raised))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)
