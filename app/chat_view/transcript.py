"""The transcript: rows of messages in a scroll area that follows a growing answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtWidgets import (
    QAbstractSlider,
    QFrame,
    QPushButton,
    QScrollArea,
    QWidget,
)

from app.chat.conversation import Conversation, Message, Role
from app.chat.generation import RowState
from app.chat_view.answer_row import AnswerRow
from app.chat_view.question_row import QuestionRow
from app.i18n import tr
from app.storage.settings import SendKey
from app.theme import COLUMN_WIDTH, SCROLL_BAR_WIDTH, SPACE_L, SPACE_M, SPACE_XL
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent

    from app.chat.generation import Generation, Piece
    from app.chat_view.message_editor import EditedMessage
    from app.chat_view.message_view import AnswerView
    from app.chat_view.question_row import UserBubble
    from app.theme import Theme


_LAYOUT_PASSES = 4  # the height of a text, known once its width is, propagates through row, column and page
_NEAR_END = 24  # pixels from the end that still count as being there


class AutoscrollArea(QScrollArea):
    """Scroll area that stays at the end of its column while that grows, unless the user has scrolled away."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._following = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, so that nothing moves when a chat becomes longer than the window; visible only when of use.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = TranscriptPage()
        self._column = page.column
        self.setWidget(page)
        self.latest = LatestButton(theme, self)
        self.latest.clicked.connect(self.to_latest)
        bar = self.verticalScrollBar()
        bar.setEnabled(False)
        bar.valueChanged.connect(self.update_following)
        bar.rangeChanged.connect(self._range_changed)

    @property
    def following(self) -> bool:
        """Whether the end is in view and is kept there when the column grows."""
        return self._following

    def follow(self, *, on: bool) -> None:
        self._following = on

    def fill(self) -> None:
        """Add rows above where there is room, without moving what is in view; for subclasses."""

    def to_latest(self) -> None:
        self._following = True
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._show_latest()

    def turn_page(self, step: int) -> None:
        """Scroll a page down, or with -1 up."""
        actions = QAbstractSlider.SliderAction
        action = actions.SliderPageStepAdd if step > 0 else actions.SliderPageStepSub
        self.verticalScrollBar().triggerAction(action)

    def update_following(self) -> None:
        """Update whether the end is in view, and add rows above when they are near."""
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - _NEAR_END
        self._show_latest()
        if bar.value() < self.viewport().height():
            self._fill_soon()

    def lay_out(self) -> None:
        """Lay out now, not later: until then, new rows above would push down what is being read."""
        for _ in range(_LAYOUT_PASSES):
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Home:
            self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
        elif event.key() == Qt.Key.Key_End:
            self.to_latest()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_latest()
        self._fill_soon()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fill_soon()

    def _fill_soon(self) -> None:
        QTimer.singleShot(0, self, self.fill)

    def _range_changed(self, _minimum: int, maximum: int) -> None:
        bar = self.verticalScrollBar()
        bar.setEnabled(maximum > 0)
        if self._following:
            bar.setValue(maximum)
        self._show_latest()

    def _show_latest(self) -> None:
        self.latest.float_in(self.viewport(), shown=not self._following)


_BATCH = 6  # rows built at once; mostly higher than the window
_MATCH_MARGIN = 32  # a match is shown no nearer to the upper and lower edge


class Transcript(AutoscrollArea):
    """The messages of the shown branch of a chat.

    Rows of old messages are built when the user scrolls up to them: a long chat opens as fast as a short one.

    Args:
        states: Returns the state of each message of the shown branch by its id.

    Signals:
        chosen(RowAction, str), edited(str, EditedMessage), models_wanted(QMenu, str) and others: As rows send them.
        built: Rows of older messages were built.
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
        self._older: list[Message] = []  # without a row yet
        self._rows: list[AnswerRow | QuestionRow] = []
        self._told_elsewhere = ""  # id of the answer whose error is explained above the composer
        self._unsent: dict[str, EditedMessage] = {}  # edits in progress of messages without a row

    @property
    def rows(self) -> tuple[AnswerRow | QuestionRow, ...]:
        """The rows that are built, from top to bottom."""
        return tuple(self._rows)

    def messages(self) -> tuple[Message, ...]:
        """Return all messages of the branch, with a row or not, from top to bottom."""
        return (*self._older, *(row.message for row in self._rows))

    def texts(self) -> Iterator[tuple[Message, str]]:
        """Yield all messages from top to bottom with their current text."""
        yield from ((message, message.text) for message in self._older)
        for row in self._rows:
            view = row.view if isinstance(row, AnswerRow) else None
            yield row.message, view.markdown() if view else row.message.text

    def row(self, message_id: str) -> AnswerRow | QuestionRow | None:
        """Return the row of a message, if it is built."""
        return next((row for row in reversed(self._rows) if row.message.id == message_id), None)

    def rows_in_view(self) -> list[AnswerRow | QuestionRow]:
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        return [row for row in self._rows if row.y() < bottom and row.y() + row.height() > top]

    def first_in_view(self) -> AnswerRow | QuestionRow | None:
        return next(iter(self.rows_in_view()), None)

    def show_chat(self, conversation: Conversation) -> None:
        """Show a chat, scrolled to its end."""
        self._drop_rows(0)
        self._older = list(conversation.path())
        self.follow(on=True)
        self.refresh()
        self.fill()

    def rearrange(self, conversation: Conversation) -> None:
        """Show another branch of the chat; the rows that both have in common stay where they are."""
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
        self.update_following()

    def refresh(self) -> None:
        self._states = self._read_states()
        for row in self._rows:
            row.set_state(self._states.get(row.message.id, RowState()))

    def add(self, message: Message) -> None:
        """Append a message that was just sent, and scroll to it."""
        self._insert(len(self._rows), message).show()
        self.refresh()
        self.to_latest()

    def leave_to_card(self, answer_id: str) -> None:
        """Hide the error of this answer while a card above the composer explains it; "" for none."""
        self._told_elsewhere = answer_id
        for row in self._rows:
            if isinstance(row, AnswerRow):
                row.leave_to_card(told=row.message.id == answer_id)

    def append(self, generation: Generation, piece: Piece) -> None:
        """Append a piece to its answer, if that is shown."""
        row = self._answer(generation.answer.id)
        if row is not None:
            row.append(piece)

    def edit(self, message_id: str) -> None:
        row = self.row(message_id)
        if isinstance(row, QuestionRow):
            row.edit(self.send_key, row.said)
            if row.editor is not None:
                row.editor.edit.setFocus()
            self.lay_out()  # or the row would still have its former height
            self.ensureWidgetVisible(row)

    def stop_editing(self, message_id: str) -> None:
        """Close the editor of a message, and drop the edit."""
        self._unsent.pop(message_id, None)
        row = self.row(message_id)
        if isinstance(row, QuestionRow):
            row.stop_editing()

    def footer_of(self, message_id: str) -> QWidget | None:
        row = self.row(message_id)
        return row.footer if row else None

    def change(self, message: Message) -> None:
        row = self._answer(message.id)
        if row is not None:
            row.show_message(message)
            self.refresh()

    def set_waiting(self, answer_id: str, text: str) -> None:
        row = self._answer(answer_id)
        if row is not None:
            row.set_waiting(text)

    def copy_last_answer(self) -> None:
        for row in reversed(self._rows):
            if isinstance(row, AnswerRow) and row.message.text:
                row.copy()
                return

    def go_to(self, row: AnswerRow | QuestionRow, view: AnswerView | UserBubble | None) -> None:
        """Scroll to the current match in a row, or to the row without a view."""
        self.lay_out()
        box = view.found_box() if view is not None else None
        top = row.y() if view is None or box is None else view.mapTo(self.widget(), box.topLeft().toPoint()).y()
        bar, high = self.verticalScrollBar(), self.viewport().height()
        if not bar.value() + _MATCH_MARGIN <= top <= bar.value() + high - 2 * _MATCH_MARGIN:
            bar.setValue(top - high // 3)

    def go_to_message(self, message_id: str) -> None:
        """Scroll to a message of the shown branch; its row is built if need be."""
        while self.row(message_id) is None and self.build_more():
            pass
        row = self.row(message_id)
        if row is not None:
            self.go_to(row, None)

    def fill(self) -> None:
        """Build older rows until the window is full, without moving what is in view."""
        bar = self.verticalScrollBar()
        while self._older and self.isVisible() and bar.value() < self.viewport().height():
            self.build_more()

    def build_more(self) -> bool:
        """Build the next older rows without moving what is in view; return whether there were any."""
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
        for row in self._rows[first:]:
            if isinstance(row, QuestionRow) and row.unsent is not None:
                self._unsent[row.message.id] = row.unsent
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        del self._rows[first:]


_ICON = 16


class TranscriptPage(QWidget):
    """The content of the scroll area: a column of rows, no wider than lines should be, aligned to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("transcriptPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        middle = QWidget()
        middle.setMaximumWidth(COLUMN_WIDTH + 2 * SPACE_XL)
        margins = (SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        self.column = vbox(1, parent=middle, margins=margins, spacing=SPACE_M)
        hbox(1, (middle, 1000), 1, parent=self, margins=(SCROLL_BAR_WIDTH, 0, 0, 0))


class LatestButton(QPushButton):
    """Button "Jump to latest", which floats above the lower edge of the transcript."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(tr("Jump to latest"), parent)
        self._theme = theme
        self.setObjectName("latest")
        self.setIconSize(QSize(_ICON, _ICON))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()
        theme.changed.connect(self._tint)
        self._tint()

    def float_in(self, viewport: QWidget, *, shown: bool) -> None:
        self.setVisible(shown)
        self.adjustSize()
        self.move((viewport.width() - self.width()) // 2, viewport.height() - self.height() - SPACE_M)

    def _tint(self) -> None:
        palette = self._theme.palette
        self.setIcon(self._theme.icons.icon("arrow-down", palette.secondary, palette.tertiary, _ICON))
