"""The messages of the chat that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Signal

from app.chat.conversation import Conversation, Message, Role
from app.chat.row_state import RowState
from app.services.settings import SendKey
from app.transcript.answer_row import AnswerRow
from app.transcript.following_area import FollowingArea
from app.transcript.question_row import QuestionRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from PySide6.QtWidgets import QWidget

    from app.chat.turn import Generation, Piece
    from app.composer.message_editor import Written
    from app.theme import Theme
    from app.transcript.message_view import AnswerView
    from app.transcript.user_bubble import UserBubble

_BATCH = 6  # messages built at once; a batch is higher than a screen, mostly
_EDGE = 32  # what was found is looked at no nearer to top and bottom


class Transcript(FollowingArea):
    """A column of messages that follows a growing answer only while its end is in view.

    Old messages are built when the person scrolls up to them: a long chat opens as fast as a short one.

    Args:
        theme: Gives colours and fonts.
        states: Tells of each message of the shown branch what can be done to it.

    Attributes:
        send_key: What sends a message that is edited.

    Signals:
        fix_pressed(str): The one thing is to be done about the answer with this id.
        chosen(RowAction, str): Something else is to be done to the message with this id.
        edited(str, Written): Id of a message, and what it is to say instead.
        models_wanted(QMenu, str): This menu is to hold the models that could give the answer with this id instead.
        editing_ended: A message is no longer edited: the keyboard is nobody's.
        link_activated: A link in an answer was chosen.
        built: More messages are there to be seen.
    """

    fix_pressed = Signal(str)
    chosen = Signal(object, str)
    edited = Signal(str, object)
    models_wanted = Signal(object, str)
    editing_ended = Signal()
    link_activated = Signal(QUrl)
    built = Signal()

    def __init__(self, theme: Theme, states: Callable[[], Mapping[str, RowState]]) -> None:
        super().__init__(theme)
        self._theme = theme
        self._read_states = states
        self._states: Mapping[str, RowState] = {}
        self.send_key = SendKey.RETURN
        self._older: list[Message] = []  # not built yet
        self._rows: list[AnswerRow | QuestionRow] = []
        self._told_elsewhere = ""  # the answer whose error is said over the composer
        self._unsent: dict[str, Written] = {}  # of messages without a row, what is written in their place

    @property
    def rows(self) -> tuple[AnswerRow | QuestionRow, ...]:
        """The rows that are built, from top to bottom."""
        return tuple(self._rows)

    def messages(self) -> tuple[Message, ...]:
        """Return all messages that are shown, built or not, from top to bottom."""
        return (*self._older, *(row.message for row in self._rows))

    def texts(self) -> Iterator[tuple[Message, str]]:
        """Yield all messages, from top to bottom, with what they say by now."""
        yield from ((message, message.text) for message in self._older)
        for row in self._rows:
            view = row.view if isinstance(row, AnswerRow) else None
            yield row.message, view.markdown() if view else row.message.text

    def row(self, message_id: str) -> AnswerRow | QuestionRow | None:
        """Return the row of a message, if it is built."""
        return next((row for row in reversed(self._rows) if row.message.id == message_id), None)

    def rows_in_view(self) -> list[AnswerRow | QuestionRow]:
        """Return the rows of which something can be seen."""
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        return [row for row in self._rows if row.y() < bottom and row.y() + row.height() > top]

    def first_in_view(self) -> AnswerRow | QuestionRow | None:
        """Return the first row of which something can be seen."""
        return next(iter(self.rows_in_view()), None)

    # ------------------------------------------------------------ content

    def show_chat(self, conversation: Conversation) -> None:
        """Show a chat from its end."""
        self._drop_rows(0)
        self._older = list(conversation.path())
        self.follow(on=True)
        self.refresh()
        self.fill()

    def rearrange(self, conversation: Conversation) -> None:
        """Show another branch of the chat; what the two have in common stays where it is."""
        path = conversation.path()
        shown = [*(message.id for message in self._older), *(row.message.id for row in self._rows)]
        pairs = enumerate(zip(shown, path, strict=False))
        same = next((n for n, (old, new) in pairs if old != new.id), min(len(shown), len(path)))
        if same < len(self._older):
            self.show_chat(conversation)
            return
        self.follow(on=False)
        self._drop_rows(same - len(self._older))
        for message in path[same:]:
            self._insert(len(self._rows), message).show()
        self.refresh()
        self.lay_out()
        self.look()

    def refresh(self) -> None:
        """Look again at what can be done to each message."""
        self._states = self._read_states()
        for row in self._rows:
            row.set_state(self._states.get(row.message.id, RowState()))

    def add(self, message: Message) -> None:
        """Add a message at the end, and go there: the person has just sent it."""
        self._insert(len(self._rows), message).show()
        self.refresh()
        self.to_latest()

    def leave_to_card(self, answer_id: str) -> None:
        """Do not say why this answer failed as long as a card does, over the composer; "" is none."""
        self._told_elsewhere = answer_id
        for row in self._rows:
            if isinstance(row, AnswerRow):
                row.leave_to_card(told=row.message.id == answer_id)

    def append(self, generation: Generation, piece: Piece) -> None:
        """Add what came of an answer; one that is not shown is ignored."""
        row = self._answer(generation.answer.id)
        if row is not None:
            row.append(piece)

    def edit(self, message_id: str) -> None:
        """Let a message be written anew in its place."""
        row = self.row(message_id)
        if isinstance(row, QuestionRow):
            row.edit(self.send_key, row.said)
            if row.editor is not None:
                row.editor.edit.setFocus()
            self.lay_out()  # or it is where it was before it grew
            self.ensureWidgetVisible(row)

    def stop_editing(self, message_id: str) -> None:
        """Show a message that was edited as it was."""
        self._unsent.pop(message_id, None)
        row = self.row(message_id)
        if isinstance(row, QuestionRow):
            row.stop_editing()

    def footer_of(self, message_id: str) -> QWidget | None:
        """Return the line under a message, if it is built."""
        row = self.row(message_id)
        return row.footer if row else None

    def change(self, message: Message) -> None:
        """Show how an answer ended, or that it begins again."""
        row = self._answer(message.id)
        if row is not None:
            row.show_message(message)
            self.refresh()

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

    def go_to(self, row: AnswerRow | QuestionRow, view: AnswerView | UserBubble | None) -> None:
        """Bring what was found in a row, and is looked at, into view."""
        self.lay_out()
        box = view.found_box() if view is not None else None
        top = (
            row.y() if view is None or box is None else view.mapTo(self.widget(), box.topLeft().toPoint()).y()
        )
        bar, high = self.verticalScrollBar(), self.viewport().height()
        if not bar.value() + _EDGE <= top <= bar.value() + high - 2 * _EDGE:
            bar.setValue(top - high // 3)

    def go_to_message(self, message_id: str) -> None:
        """Bring a message of the branch that is shown into view, built or not."""
        while self.row(message_id) is None and self.build_more():
            pass
        row = self.row(message_id)
        if row is not None:
            self.go_to(row, None)

    def fill(self) -> None:
        """Build older messages above until there is a screen of them, without moving what is in view."""
        bar = self.verticalScrollBar()
        while self._older and self.isVisible() and bar.value() < self.viewport().height():
            self.build_more()

    def build_more(self) -> bool:
        """Build the next older messages, without moving what is in view; return whether there were any."""
        if not self._older:
            return False
        bar = self.verticalScrollBar()
        top = self._rows[0] if self._rows else None
        offset = top.y() - bar.value() if top else 0
        batch, self._older = self._older[-_BATCH:], self._older[:-_BATCH]
        for position, message in enumerate(batch):
            self._insert(position, message).show()
        self.lay_out()
        bar.setValue(bar.maximum() if self.following or top is None else top.y() - offset)
        self.built.emit()
        return True

    # ------------------------------------------------------------ rows

    def _insert(self, position: int, message: Message) -> AnswerRow | QuestionRow:
        row: AnswerRow | QuestionRow
        if message.role is Role.ASSISTANT:
            row = AnswerRow(self._theme, message)
            row.fix_pressed.connect(self.fix_pressed)
            row.link_activated.connect(self.link_activated)
            row.models_wanted.connect(self.models_wanted)
            row.leave_to_card(told=message.id == self._told_elsewhere)
        else:
            row = QuestionRow(self._theme, message)
            row.edited.connect(self.edited)
            row.editing_ended.connect(self.editing_ended)
            if message.id in self._unsent:
                row.edit(self.send_key, self._unsent.pop(message.id))
        row.chosen.connect(self.chosen)
        row.set_state(self._states.get(message.id, RowState()))
        self._rows.insert(position, row)
        self._column.insertWidget(position, row)
        return row

    def _answer(self, answer_id: str) -> AnswerRow | None:
        row = self.row(answer_id)
        return row if isinstance(row, AnswerRow) else None

    def _drop_rows(self, first: int) -> None:
        """Take away the rows from one on."""
        for row in self._rows[first:]:
            if isinstance(row, QuestionRow) and row.unsent is not None:
                self._unsent[row.message.id] = row.unsent
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        del self._rows[first:]
