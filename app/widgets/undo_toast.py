"""A short notice with one action, which goes away by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.theme import SPACE_L, SPACE_S, SPACE_XL
from app.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN_MS = 8000
_MAX_WIDTH = 380


class UndoToast(QFrame):
    """Floats above the lower edge of its parent; a second notice replaces the first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._area = parent
        self.setObjectName("toast")
        self._action: Callable[[], None] | None = None
        self._label = ElidedLabel()
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
        self._timer.setInterval(_SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        parent.installEventFilter(self)
        self.hide()

    def offer(self, text: str, action_text: str, action: Callable[[], None]) -> None:
        """Say `text` for a while, with a button that runs `action`."""
        self._action = action
        self._label.setText(text)
        self.button.setText(action_text)
        self.button.setAccessibleName(f"{action_text}: {text}")
        self._place()
        self.show()
        self.raise_()
        self._timer.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in place when the parent changes its size."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        width = min(self.sizeHint().width(), _MAX_WIDTH, self._area.width() - 2 * SPACE_L)
        self.resize(width, self.sizeHint().height())
        self.move((self._area.width() - width) // 2, self._area.height() - self.height() - SPACE_XL)

    def _run(self) -> None:
        self._timer.stop()
        self.hide()
        if self._action is not None:
            self._action()
