"""The Speed window: what is going on now, what was measured on this machine, and what came of the answers so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.translate import tr
from app.widgets.place_tabs import PlaceTabs
from app.window_place import place_of, restore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QCloseEvent, QShowEvent

    from app.services.settings import SettingsFile
    from app.theme import Theme

_SIZE = QSize(880, 720)


class SpeedWindow(QWidget):
    """There is one of it.

    Args:
        theme: The look.
        settings: Remember where it was.
        places: Their names and what is shown in them.

    Attributes:
        places: What is shown in each place.
        tabs: Chooses among them.

    Signals:
        opened: It is on the screen, and may have been away for long.
    """

    opened = Signal()

    def __init__(self, theme: Theme, settings: SettingsFile, places: Sequence[tuple[str, QWidget]]) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._settings = settings
        self.setObjectName("speedWindow")
        self.setWindowTitle(tr("Speed"))
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.places = tuple(place for _, place in places)
        self.tabs = PlaceTabs(theme, [name for name, _ in places], self)
        self._stack = QStackedWidget()
        for place in self.places:
            self._stack.addWidget(place)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)
        self.tabs.turned.connect(self._turn)
        for key in ("Ctrl+W", "Esc"):
            QShortcut(QKeySequence(key), self).activated.connect(self.close)
        restore(self, settings.value.speed_place, _SIZE)

    def open_place(self, place: QWidget | None = None) -> None:
        """Come to the front, at a place or where it was."""
        if place is not None:
            self.tabs.choose(self.places.index(place))
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        """Say that what is shown may have to be brought up to date."""
        super().showEvent(event)
        self.opened.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember where the window is."""
        self._settings.change(speed_place=place_of(self))
        super().closeEvent(event)

    def _turn(self, index: int) -> None:
        self._stack.setCurrentIndex(index)
        self.tabs.buttons[index].setFocus()
