"""The rows of a transcript: the person's message, and an answer with what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QTimer, QUrl, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication, QPaintEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.conversation import Message, MessageStatus
from app.chat.message_view import AnswerView, UserBubble
from app.chat.meters import final_text, final_tooltip
from app.theme import SMALL_PX, SPACE_S
from app.widgets.error_card import ErrorCard
from app.widgets.icon_button import IconButton
from app.widgets.pulse import Pulse

if TYPE_CHECKING:
    from app.theme import Theme

_COPIED_MS = 1500
_FOOTER_HEIGHT = 28
_LINE_HEIGHT = 22
_NOTES = {
    MessageStatus.STOPPED: "Stopped",
    MessageStatus.LENGTH: "Ended at the length limit",
    MessageStatus.INTERRUPTED: "Interrupted when MTPLX closed",
}


class QuietButton(IconButton):
    """Takes its place always, and is seen only while its row is pointed at or it has the focus."""

    revealed = False

    def __init__(self, theme: Theme, icon: str, label: str, parent: QWidget) -> None:
        super().__init__(theme, icon, label, parent=parent)
        self.setObjectName("quietIcon")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint nothing until the button is of use."""
        if self.revealed or self.hasFocus():
            super().paintEvent(event)


class AnswerRow(QWidget):
    """An answer: what it waits for, its text, what went wrong, and one line with figures that never moves.

    Signals:
        action_pressed: The button of the error card, with the answer's id.
        link_activated: A link in the answer was chosen.
    """

    action_pressed = Signal(str)
    link_activated = Signal(QUrl)

    def __init__(self, theme: Theme, message: Message, action: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.message = message
        self.card: ErrorCard | None = None
        self.words = self._label("secondary")
        self.waiting = self._waiting_line()
        self.view: AnswerView | None = None  # made with the first text
        self.copy_button = QuietButton(theme, "copy", "Copy answer", self)
        self.copy_button.clicked.connect(self.copy)
        self.figures = self._label("tertiary")
        self.figures.setFont(theme.figures_font(SMALL_PX))
        self.figures.setAccessibleName("Figures of this answer")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(SPACE_S)
        self._layout.addWidget(self.waiting)
        self._foot = self._footer()
        self._layout.addWidget(self._foot)
        theme.changed.connect(self._restyle)
        if self.streaming:
            self.append(message.text)
        elif message.text:
            self._make_view().set_markdown(message.text)
        self.show_state(message, action)

    @property
    def streaming(self) -> bool:
        """Whether the answer is still being written or waited for."""
        return self.message.status is MessageStatus.STREAMING

    def append(self, text: str) -> None:
        """Add text that came."""
        if text:
            self.waiting.hide()
            (self.view or self._make_view()).append(text)

    def set_waiting(self, words: str) -> None:
        """Say what the answer waits for, as long as it has no text."""
        self.words.setText(words)

    def show_state(self, message: Message, action: str) -> None:
        """Show how the answer stands: its figures, a note, or an error with one thing to do."""
        self.message = message
        empty = not message.text
        if self.view and not self.streaming:
            self.view.finish()
        self.waiting.setVisible(self.streaming and self.view is None)
        note = _NOTES.get(message.status, "")
        figures = final_text(message.stats) if message.stats else ""
        self.figures.setText(" · ".join(part for part in (note, figures) if part))
        self.figures.setToolTip(final_tooltip(message.stats) if message.stats else "")
        self.copy_button.setEnabled(not empty)
        self.copy_button.setVisible(not empty)
        self._show_card(message.error or (f"{note}." if action else ""), action)
        self._foot.setVisible(not (empty and self.card))

    def set_action(self, action: str) -> None:
        """Name the error card's button anew, or take it away with ""."""
        if self.card is not None:
            self.card.set_action(action)

    def copy(self) -> None:
        """Put the answer on the clipboard, as the markdown that it is."""
        QGuiApplication.clipboard().setText(self.message.text)
        self.copy_button.set_face("check", "Copied")
        QTimer.singleShot(_COPIED_MS, self, lambda: self.copy_button.set_face("copy", "Copy answer"))

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the actions."""
        super().enterEvent(event)
        self._reveal(shown=True)

    def leaveEvent(self, event: QEvent) -> None:
        """Hide the actions."""
        super().leaveEvent(event)
        self._reveal(shown=False)

    def _reveal(self, *, shown: bool) -> None:
        self.copy_button.revealed = shown
        self.copy_button.update()

    def _waiting_line(self) -> QWidget:
        line = QWidget(self)
        line.setFixedHeight(_LINE_HEIGHT)
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(Pulse(self._theme, line))
        row.addWidget(self.words, 1)
        return line

    def _footer(self) -> QWidget:
        footer = QWidget(self)
        footer.setFixedHeight(_FOOTER_HEIGHT)
        row = QHBoxLayout(footer)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.copy_button)
        row.addStretch(1)
        row.addWidget(self.figures)
        return footer

    def _label(self, tone: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("tone", tone)
        return label

    def _show_card(self, sentence: str, action: str) -> None:
        if self.card is not None:
            self._layout.removeWidget(self.card)
            self.card.deleteLater()
            self.card = None
        if sentence:
            self.card = ErrorCard(self._theme, sentence, action, self)
            self.card.pressed.connect(lambda: self.action_pressed.emit(self.message.id))
            self._layout.insertWidget(self._layout.count() - 1, self.card)
            self.card.show()

    def _make_view(self) -> AnswerView:
        self.view = AnswerView(self._theme.render_style(), self)
        self.view.link_activated.connect(self.link_activated)
        self._layout.insertWidget(1, self.view)
        self.view.show()
        QWidget.setTabOrder(self.view, self.copy_button)
        return self.view

    def _restyle(self) -> None:
        if self.view:
            self.view.set_style(self._theme.render_style())


class QuestionRow(QWidget):
    """The person's message; its bubble keeps to the right by itself."""

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.message = message
        self.bubble = UserBubble(message.text, theme.render_style(), self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.bubble)
        theme.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.bubble.set_style(self._theme.render_style())
