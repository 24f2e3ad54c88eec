"""A short notice with one action, which goes away by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.theme import SPACE_L, SPACE_S
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN_MS, _SHOWN_MS_PER_CHARACTER = 8000, 80
_MAX_WIDTH = 420
_MOST_UNDOS = 50  # each holds what was deleted
_ABOVE_EDGE = 52  # leaves the pill below it in reach


class UndoToast(QFrame):
    """Floats above the lower edge of its parent; a second notice replaces the first.

    What can be undone is kept, the last first, whatever has been said since.

    Signals:
        undoable(bool): Whether anything is left that can be undone.
    """

    undoable = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._area = parent
        self.setObjectName("toast")
        self._action: Callable[[], None] | None = None
        self._undos: list[Callable[[], None]] = []  # the last one is undone first
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self.button = QPushButton()
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.clicked.connect(self._run)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_S, SPACE_S, SPACE_S)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self._label, 1)
        layout.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.hide)
        parent.installEventFilter(self)
        self.hide()

    @property
    def can_undo(self) -> bool:
        """Whether anything is left that can be undone."""
        return bool(self._undos)

    def offer(self, text: str, action_text: str, action: Callable[[], None]) -> None:
        """Say `text` for a while, with a button that runs `action`."""
        self._action = action
        self._label.setText(text)
        self.button.setText(action_text)
        self.button.setVisible(bool(action_text))
        self.button.setAccessibleName(f"{action_text}: {text}")
        self._place()
        self.show()
        self.raise_()
        self._timer.start(max(_SHOWN_MS, _SHOWN_MS_PER_CHARACTER * len(text)))

    def offer_undo(self, text: str, undo: Callable[[], None]) -> None:
        """Say `text` for a while, with a button that runs `undo`; the Edit menu offers it for longer."""
        self._undos = [*self._undos[1 - _MOST_UNDOS :], undo]
        self.offer(text, tr("Undo"), self.undo)
        self.undoable.emit(True)

    def tell(self, text: str) -> None:
        """Say `text` for a while; there is nothing to do about it."""
        self.offer(text, "", self.hide)

    def undo(self) -> None:
        """Undo the last of what can be undone, and take back the notice that offered it."""
        if not self._undos:
            return
        undo = self._undos.pop()
        if self._action == self.undo:
            self._take_back()
        self.undoable.emit(self.can_undo)
        undo()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in place when the parent changes its size."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        one_line = self._label.fontMetrics().horizontalAdvance(self._label.text()) + 1
        around = self.sizeHint().width() - self._label.sizeHint().width()
        width = min(one_line + around, _MAX_WIDTH, self._area.width() - 2 * SPACE_L)
        height = self.heightForWidth(width)
        top = self._area.height() - height - _ABOVE_EDGE
        self.setGeometry((self._area.width() - width) // 2, top, width, height)

    def _run(self) -> None:
        action = self._action
        self._take_back()
        if action is not None:
            action()

    def _take_back(self) -> None:
        self._timer.stop()
        self.hide()
        self._action = None
