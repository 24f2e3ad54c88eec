"""Where a message is typed, sent, and where its answer is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QObject, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QInputMethodEvent, QKeyEvent, QResizeEvent, Qt, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QSizePolicy, QVBoxLayout

from app.chat.meters import Reading, live_text, live_tooltip
from app.services.settings import SendKey
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S
from app.widgets.icon_button import IconButton

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme

_MAX_LINES = 8
_SEND_SIDE = 32
# Qt lays out a run of 300,000 characters without a space in seconds, unless it may break it anywhere.
_LONG_RUN = 4096
_PLACEHOLDER = "Message"


class MessageEdit(QPlainTextEdit):
    """A plain text field that is as high as its text, up to eight lines.

    Attributes:
        send_key: What sends.

    Signals:
        submitted: What sends was pressed, and no input method was composing.
    """

    submitted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.send_key = SendKey.RETURN
        self._composing = False
        self._just_composed = False
        self.setObjectName("message")
        self.setPlaceholderText(_PLACEHOLDER)
        self.setAccessibleName("Message")
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Submit with the send key; with Shift it is a new line, and Return belongs to a composing input method."""
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        with_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if not is_return or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif with_control is not (self.send_key is SendKey.CTRL_RETURN):
            self.textCursor().insertBlock()
            self.ensureCursorVisible()
        elif not self._composing and not self._just_composed:
            self.submitted.emit()

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the menus while it is for the input method: it must not stop an answer then."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride and self._composing:
            event.accept()
            return True
        return super().event(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Remember whether a composition is open, or ended by the very key that is still to come."""
        was_composing, self._composing = self._composing, bool(event.preeditString())
        if was_composing and not self._composing:
            self._just_composed = True
            QTimer.singleShot(0, self, self._composition_over)
        # Qt would paint it under what is being composed.
        self.setPlaceholderText("" if self._composing else _PLACEHOLDER)
        super().inputMethodEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste text; runs without a space may then break anywhere."""
        longest = max((len(run) for run in source.text().split()), default=0)
        if longest > _LONG_RUN:
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        super().insertFromMimeData(source)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height to the new line breaks."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the height to a new font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _composition_over(self) -> None:
        self._just_composed = False

    def _fit(self) -> None:
        # A plain text document measures its height in lines.
        lines = min(max(round(self.document().size().height()), 1), _MAX_LINES)
        self.setFixedHeight(round(lines * QFontMetricsF(self.font()).lineSpacing()) + 2)


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
        self.edit.setPlainText(text)
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.edit.setTextCursor(cursor)

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
