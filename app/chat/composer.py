"""Where a message is typed, sent, and where its answer is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout

from app.chat.message_edit import MessageEdit
from app.chat.meters import Reading, live_text, live_tooltip
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S
from app.widgets.icon_button import IconButton

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_SEND_SIDE = 32


class Composer(QFrame):
    """The message field with the live chip and the button that sends, and stops while an answer is written.

    Signals:
        submitted: A message is to be sent; it is not blank.
        stop_requested: The answer is to be stopped.
    """

    submitted = Signal(str)
    stop_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._busy = False
        self.edit = MessageEdit(self)
        self.edit.installEventFilter(self)
        self.edit.textChanged.connect(self._refresh)
        self.edit.submitted.connect(self._submit)
        self.setFocusProxy(self.edit)
        self.chip = QLabel(self)
        self.chip.setTextFormat(Qt.TextFormat.PlainText)
        self.chip.setProperty("tone", "secondary")
        self.chip.setFont(theme.figures_font(SMALL_PX))
        self.chip.setAccessibleName("Speed")
        self.button = IconButton(
            theme, "send", "Send", color="on_accent", size=20, side=_SEND_SIDE, parent=self
        )
        self.button.setObjectName("send")
        self.button.clicked.connect(self._press)
        row = QHBoxLayout()
        row.setSpacing(SPACE_M)
        row.addStretch(1)
        row.addWidget(self.chip)
        row.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_S, SPACE_S)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self.edit)
        layout.addLayout(row)
        self._refresh()

    def text(self) -> str:
        """Return what has been typed."""
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace what has been typed, the cursor at its end."""
        self.edit.set_text(text)

    def set_busy(self, *, busy: bool) -> None:
        """Turn Send into Stop in the same place, and back."""
        self._busy = busy
        if not busy:
            self.chip.clear()
        self._refresh()

    def set_reading(self, reading: Reading | None) -> None:
        """Show the live figures; None while there is too little to measure."""
        if self._busy:
            self.chip.setText(live_text(reading))
            self.chip.setToolTip(live_tooltip(reading))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Outline the whole card while its field has the focus."""
        if watched is self.edit and event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.setProperty("focused", event.type() == QEvent.Type.FocusIn)
            self._restyle(self)
        return super().eventFilter(watched, event)

    def _submit(self) -> None:
        if not self._busy and self.text().strip():
            self.submitted.emit(self.text())

    def _press(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self._submit()

    def _refresh(self) -> None:
        self.button.setEnabled(self._busy or bool(self.text().strip()))
        if self._busy == bool(self.button.property("stopping")):
            return
        self.button.setProperty("stopping", self._busy)
        if self._busy:
            self.button.set_face("stop", "Stop", "window")
        else:
            self.button.set_face("send", "Send", "on_accent")
        self._restyle(self.button)

    @staticmethod
    def _restyle(widget: QWidget) -> None:
        # The style sheet's selectors on properties are looked at only when a widget is polished.
        widget.style().unpolish(widget)
        widget.style().polish(widget)
