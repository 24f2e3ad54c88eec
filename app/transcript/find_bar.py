"""The field to find something in the chat that is shown, and how many there are of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QWidget

from app.theme import SMALL_PX, SPACE_S, SPACE_XS
from app.translate import tr
from app.widgets.icon_button import IconButton
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from app.theme import Theme

_FIELD_WIDTH = 200
_COUNT_WIDTH = 84
_SEARCH_MS = 60


class FindBar(QFrame):
    """One line above what is searched; it is there only while it is used.

    Attributes:
        field: What is searched for.
        count: Which one is looked at, of how many.

    Signals:
        searched(str): Other words are to be found.
        moved(int): 1 for the next one, -1 for the one before.
        closed: The search is over.
    """

    searched = Signal(str)
    moved = Signal(int)
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self.field = QLineEdit(self)
        self.field.setObjectName("find")
        self.field.setPlaceholderText(tr("Find in chat"))
        self.field.setAccessibleName(tr("Find in chat"))
        self.field.setFixedWidth(_FIELD_WIDTH)
        self.count = QLabel(self)
        self.count.setProperty("tone", "secondary")
        self.count.setFont(theme.figures_font(SMALL_PX))
        self.count.setMinimumWidth(_COUNT_WIDTH)
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.previous = IconButton(theme, "chevron-up", tr("Previous match"), parent=self)
        self.next = IconButton(theme, "chevron-down", tr("Next match"), parent=self)
        self.close_button = IconButton(theme, "close", tr("Close the search"), parent=self)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_S, SPACE_XS, SPACE_XS, SPACE_XS)
        row.setSpacing(SPACE_XS)
        for widget in (self.field, self.count, self.previous, self.next, self.close_button):
            row.addWidget(widget)
        self._throttle = Throttle(_SEARCH_MS, self)
        self._throttle.due.connect(lambda: self.searched.emit(self.field.text()))
        self.field.textChanged.connect(self._throttle.request)
        self.previous.clicked.connect(lambda: self.moved.emit(-1))
        self.next.clicked.connect(lambda: self.moved.emit(1))
        self.close_button.clicked.connect(self.dismiss)
        self.field.installEventFilter(self)
        self.show_count(None, 0)
        self.hide()

    def open(self) -> None:
        """Show the field, ready to be typed into; what is in it is searched for again."""
        was_open = self.isVisible()
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if not was_open and self.field.text():
            self.searched.emit(self.field.text())

    def go(self, step: int) -> None:
        """Go to the next match, or with -1 to the one before."""
        if self.isVisible():
            self.moved.emit(step)
        else:
            self.open()

    def dismiss(self) -> None:
        """End the search."""
        if self.isVisible():
            self.hide()
            self.closed.emit()

    def show_count(self, now: int | None, total: int, *, capped: bool = False) -> None:
        """Say which match is looked at, counted from 0, of how many; `capped` says that there may be more."""
        number = f"{total:,}+" if capped else f"{total:,}"
        if not self.field.text().strip():
            words = ""
        elif not total:
            words = tr("Not found")
        elif now is None:
            words = tr("{total} found").format(total=number)
        else:
            words = tr("{now} of {total}").format(now=f"{now + 1:,}", total=number)
        self.count.setText(words)
        self.count.setAccessibleName(words)
        self.previous.setEnabled(total > 0)
        self.next.setEnabled(total > 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go on with Return, back with Shift and Return, away with Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._throttle.cancel()
            self.moved.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep Escape for this bar: as a shortcut it stops an answer."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().eventFilter(watched, event)
