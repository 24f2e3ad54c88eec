"""The field above the chats that searches them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QLineEdit

from app.services.search_index import QUERY_LIMIT
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_PAUSE_MS = 60  # so that a word typed in one go is searched for once
_ICON = 16


class SearchField(QLineEdit):
    """A line with a magnifying glass, and a cross once something is typed.

    Signals:
        searched(str): These words are to be looked for, "" for none.
        entered: Return: the first thing found is meant.
        left_down: The arrow downwards: on to what was found.
    """

    searched = Signal(str)
    entered = Signal()
    left_down = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("search")
        self.setAccessibleName(tr("Search all chats"))
        self.setPlaceholderText(tr("Search"))
        self.setMaxLength(QUERY_LIMIT)
        self._glass = self.addAction(self._icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self._cross = self.addAction(self._icon("close"), QLineEdit.ActionPosition.TrailingPosition)
        self._cross.setVisible(False)
        self._cross.setToolTip(tr("Clear the search"))
        self._cross.triggered.connect(self.clear)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._search)
        self.textChanged.connect(self._changed)
        self.returnPressed.connect(self.entered)
        theme.changed.connect(self._tint)

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the menus while there is something to clear."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride and self.text():
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear with Escape, and go on to what was found with the arrow downwards."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.left_down.emit()
        else:
            super().keyPressEvent(event)

    def _changed(self, text: str) -> None:
        self._cross.setVisible(bool(text))
        # The chats are back at once.
        self._pause.start(_PAUSE_MS if text.strip() else 0)

    def _search(self) -> None:
        self.searched.emit(" ".join(self.text().split()))

    def _tint(self) -> None:
        self._glass.setIcon(self._icon("search"))
        self._cross.setIcon(self._icon("close"))

    def _icon(self, name: str) -> QIcon:
        palette = self._theme.palette
        return self._theme.icons.icon(name, palette.tertiary, palette.tertiary, _ICON)
