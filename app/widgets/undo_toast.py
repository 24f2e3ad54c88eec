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
_ABOVE_EDGE = 52  # leaves the pill below it in reach


class UndoToast(QFrame):
    """Floats above the lower edge of its parent; a second notice replaces the first.

    Attributes:
        can_undo: Whether what the last notice spoke of can still be undone, also when the notice is gone.

    Signals:
        changed: `can_undo` may be another now.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._area = parent
        self.setObjectName("toast")
        self._action: Callable[[], None] | None = None
        self.can_undo = False
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

    def offer(self, text: str, action_text: str, action: Callable[[], None]) -> None:
        """Say `text` for a while, with a button that runs `action`."""
        self._offer(text, action_text, action, can_undo=False)

    def offer_undo(self, text: str, undo: Callable[[], None]) -> None:
        """Say `text` for a while, with a button that runs `undo`; the Edit menu offers it for longer."""
        self._offer(text, tr("Undo"), undo, can_undo=True)

    def tell(self, text: str) -> None:
        """Say `text` for a while; there is nothing to do about it."""
        self._offer(text, "", self.hide, can_undo=False)

    def undo(self) -> None:
        """Undo what the last notice spoke of."""
        if self.can_undo:
            self._run()

    def _offer(self, text: str, action_text: str, action: Callable[[], None], *, can_undo: bool) -> None:
        self._action = action
        self.can_undo = can_undo
        self.changed.emit()
        self._label.setText(text)
        self.button.setText(action_text)
        self.button.setVisible(bool(action_text))
        self.button.setAccessibleName(f"{action_text}: {text}")
        self._place()
        self.show()
        self.raise_()
        self._timer.start(max(_SHOWN_MS, _SHOWN_MS_PER_CHARACTER * len(text)))

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
        self._timer.stop()
        self.hide()
        action, self._action, self.can_undo = self._action, None, False
        self.changed.emit()
        if action is not None:
            action()
