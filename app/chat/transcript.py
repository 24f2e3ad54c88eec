"""The messages of the chat that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.chat.conversation import Conversation, Message, Role
from app.chat.message_rows import AnswerRow, QuestionRow
from app.theme import COLUMN_WIDTH, SCROLL_BAR_WIDTH, SPACE_L, SPACE_M, SPACE_XL

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent, QShowEvent

    from app.theme import Theme

_BATCH = 6  # messages built at once; a batch is higher than a screen, mostly
_LAYOUT_PASSES = 4  # a text's height is known once its width is, and goes up through row, column and page
_NEAR = 24  # pixels from the end that still count as being there


class Transcript(QScrollArea):
    """A column of messages that follows a growing answer only while its end is in view.

    Old messages are built when the person scrolls up to them: a long chat opens as fast as a short one.

    Args:
        theme: Gives colours and fonts.
        action_for: Names the one thing to do about a failed answer, "" for nothing.

    Signals:
        action_pressed: Somebody wants to do that one thing, with the answer's id.
        link_activated: A link in an answer was chosen.
    """

    action_pressed = Signal(str)
    link_activated = Signal(QUrl)

    def __init__(self, theme: Theme, action_for: Callable[[Message], str]) -> None:
        super().__init__()
        self._theme = theme
        self._action_for = action_for
        self._older: list[Message] = []  # not built yet
        self._rows: list[AnswerRow | QuestionRow] = []
        self._following = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, so that nothing moves when a chat becomes longer than the window; seen only when of use.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._column = QVBoxLayout()
        self._column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        self._column.setSpacing(SPACE_M)
        self._column.addStretch(1)
        self._make_page()
        self.latest = QPushButton("Jump to latest", self)
        self.latest.setObjectName("latest")
        self.latest.setIconSize(QSize(16, 16))
        self.latest.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.latest.clicked.connect(self.to_latest)
        self.latest.hide()
        bar = self.verticalScrollBar()
        bar.setEnabled(False)
        bar.valueChanged.connect(self._scrolled)
        bar.rangeChanged.connect(self._range_changed)
        theme.changed.connect(self._tint)
        self._tint()

    @property
    def following(self) -> bool:
        """Whether the end is in view, and stays there when the answer grows."""
        return self._following

    @property
    def rows(self) -> tuple[AnswerRow | QuestionRow, ...]:
        """The rows that are built, from top to bottom."""
        return tuple(self._rows)

    # ------------------------------------------------------------ content

    def show_chat(self, conversation: Conversation) -> None:
        """Show a chat from its end."""
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows = []
        self._older = list(conversation.path())
        self._following = True
        self._build_older()
        self._refresh_actions()

    def add(self, message: Message) -> None:
        """Add a message at the end, and go there: the person has just sent it."""
        self._insert(len(self._rows), message).show()
        self._refresh_actions()
        self.to_latest()

    def append_text(self, answer_id: str, text: str) -> None:
        """Add text to an answer; one that is not in this chat is ignored."""
        row = self._answer(answer_id)
        if row is not None:
            row.append(text)

    def change(self, message: Message) -> None:
        """Show how an answer ended, or that it begins again."""
        row = self._answer(message.id)
        if row is not None:
            row.show_state(message, self._action_for(message))
            self._refresh_actions()

    def set_waiting(self, answer_id: str, words: str) -> None:
        """Say what an answer waits for."""
        row = self._answer(answer_id)
        if row is not None:
            row.set_waiting(words)

    def copy_last_answer(self) -> None:
        """Put the last answer that has text on the clipboard."""
        for row in reversed(self._rows):
            if isinstance(row, AnswerRow) and row.message.text:
                row.copy()
                return

    # ------------------------------------------------------------ scrolling

    def to_latest(self) -> None:
        """Go to the end and follow it."""
        self._following = True
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._show_pill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the pill in its place, and fill what has become free."""
        super().resizeEvent(event)
        self._show_pill()
        QTimer.singleShot(0, self, self._build_older)

    def showEvent(self, event: QShowEvent) -> None:
        """Build what could not be laid out before."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._build_older)

    def _scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        self._following = value >= bar.maximum() - _NEAR
        self._show_pill()
        if self._older and value < self.viewport().height():
            QTimer.singleShot(0, self, self._build_older)

    def _range_changed(self, _minimum: int, maximum: int) -> None:
        bar = self.verticalScrollBar()
        bar.setEnabled(maximum > 0)
        if self._following:
            bar.setValue(maximum)
        self._show_pill()

    def _build_older(self) -> None:
        """Build older messages above until there is a screen of them, without moving what is in view."""
        bar = self.verticalScrollBar()
        while self._older and self.isVisible() and bar.value() < self.viewport().height():
            top = self._rows[0] if self._rows else None
            offset = top.y() - bar.value() if top else 0
            batch, self._older = self._older[-_BATCH:], self._older[:-_BATCH]
            for position, message in enumerate(batch):
                self._insert(position, message).show()
            self._lay_out()
            bar.setValue(bar.maximum() if self._following or top is None else top.y() - offset)

    def _lay_out(self) -> None:
        """Lay out now, not later: in between, new rows above would push down what is being read."""
        for _ in range(_LAYOUT_PASSES):
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    # ------------------------------------------------------------ rows

    def _insert(self, position: int, message: Message) -> AnswerRow | QuestionRow:
        row: AnswerRow | QuestionRow
        if message.role is Role.ASSISTANT:
            row = AnswerRow(self._theme, message, self._action_for(message))
            row.action_pressed.connect(self.action_pressed)
            row.link_activated.connect(self.link_activated)
        else:
            row = QuestionRow(self._theme, message)
        self._rows.insert(position, row)
        self._column.insertWidget(position, row)
        return row

    def _answer(self, answer_id: str) -> AnswerRow | None:
        for row in reversed(self._rows):
            if row.message.id == answer_id and isinstance(row, AnswerRow):
                return row
        return None

    def _refresh_actions(self) -> None:
        """Only the last answer can be asked for again."""
        for row in self._rows[:-1]:
            if isinstance(row, AnswerRow):
                row.set_action("")

    def _make_page(self) -> None:
        page, column = QWidget(), QWidget()
        page.setObjectName("transcriptPage")
        column.setLayout(self._column)
        column.setMaximumWidth(COLUMN_WIDTH + 2 * SPACE_XL)
        across = QHBoxLayout(page)
        across.setContentsMargins(SCROLL_BAR_WIDTH, 0, 0, 0)
        across.addStretch(1)
        across.addWidget(column, 1000)
        across.addStretch(1)
        self.setWidget(page)

    # ------------------------------------------------------------ the pill

    def _show_pill(self) -> None:
        self.latest.setVisible(not self._following)
        self.latest.adjustSize()
        self.latest.move(
            (self.viewport().width() - self.latest.width()) // 2,
            self.viewport().height() - self.latest.height() - SPACE_M,
        )

    def _tint(self) -> None:
        palette = self._theme.palette
        self.latest.setIcon(self._theme.icons.icon("arrow-down", palette.secondary, palette.tertiary, 16))
