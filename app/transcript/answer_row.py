"""An answer in a transcript, with what belongs to it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.chat.conversation import Message, MessageStatus
from app.chat.meters import final_text, final_tooltip
from app.chat.row_state import RowAction, RowState
from app.theme import SMALL_PX, SPACE_S
from app.transcript.message_row import MessageRow
from app.transcript.message_view import AnswerView
from app.transcript.row_footer import RowFooter
from app.transcript.thinking_card import ThinkingCard
from app.translate import tr
from app.widgets.elided_label import ElidedLabel
from app.widgets.error_card import ErrorCard
from app.widgets.pulse import Pulse

if TYPE_CHECKING:
    from app.chat.turn import Piece
    from app.theme import Theme

_LINE_HEIGHT = 22
_ACTIONS = (RowAction.COPY, RowAction.REGENERATE)
_MORE = (
    RowAction.FOCUSED,
    RowAction.VARIED,
    RowAction.OTHER_MODEL,
    RowAction.DETAILS,
    RowAction.DELETE,
)


class AnswerRow(MessageRow):
    """An answer: what it waits for, its text, what went wrong, and one line with figures that never moves.

    Signals:
        fix_pressed(str): The button of the error card, with the answer's id.
        models_wanted(QMenu, str): This menu is about to show which models could answer instead of this answer's.
        link_activated: A link in the answer was chosen.
    """

    fix_pressed = Signal(str)
    models_wanted = Signal(object, str)
    link_activated = Signal(QUrl)

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(theme, message, parent)
        self.card: ErrorCard | None = None
        self._card_says = ("", "")
        self._told_elsewhere = False
        self.words = QLabel(self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setProperty("tone", "secondary")
        self.waiting = self._waiting_line()
        self.silence = self._silence_line()
        self.thoughts: ThinkingCard | None = None  # made with the first thought
        self._thinks = False
        self.view: AnswerView | None = None  # made with the first text
        self.figures = ElidedLabel(self)
        self.figures.setProperty("tone", "tertiary")
        self.figures.setFont(theme.figures_font(SMALL_PX))
        self.figures.setAccessibleName(tr("Figures of this answer"))
        self.footer = RowFooter(theme, _ACTIONS, _labels(), self, more=_MORE, lasting=(RowAction.RESUME,))
        self.footer.row.addSpacing(SPACE_S)
        self.footer.row.addWidget(self.figures, 1)
        self.footer.chosen.connect(self._choose)
        self.footer.models_wanted.connect(lambda menu: self.models_wanted.emit(menu, self.message.id))
        self._layout.addWidget(self.waiting)
        self._layout.addWidget(self.silence)
        self._layout.addWidget(self.footer)
        theme.restyling.add(self._restyle)
        theme.tinting.add(self._show_tint)
        if message.thinking:
            self._make_thoughts().set_text(message.thinking, message.thought_ms)
        if self.streaming:
            self._append(message.text)
        elif message.text:
            self._make_view().set_markdown(message.text)
        self.show_message(message)

    @property
    def streaming(self) -> bool:
        """Whether the answer is still being written or waited for."""
        return self.message.status is MessageStatus.STREAMING

    @property
    def silent(self) -> bool:
        """Whether the answer ended well without a word."""
        return self.message.status is MessageStatus.DONE and not (self.message.text or self.message.error)

    def append(self, piece: Piece) -> None:
        """Add what came."""
        if piece.thinking:
            self.waiting.hide()
            (self.thoughts or self._make_thoughts()).append(piece.thinking)
            self._thinks = True
        if piece.text and self._thinks and self.thoughts:
            self.thoughts.finish(piece.thought_ms)
            self._thinks = False
        self._append(piece.text)

    def set_waiting(self, words: str) -> None:
        """Say what the answer waits for, as long as it has no text."""
        self.words.setText(words)

    def show_message(self, message: Message) -> None:
        """Show how the answer stands: its figures, a note, or an error; and that it is written on."""
        written_on = message.status is MessageStatus.STREAMING and not self.streaming
        self.message = message
        if written_on and self.view:
            self._begin_again(message.text)
        elif self.view and not self.streaming:
            self.view.finish()
        if self._thinks and self.thoughts and not self.streaming:
            self.thoughts.finish(message.thought_ms)
            self._thinks = False
        self.waiting.setVisible(self.streaming and self.view is None and self.thoughts is None)
        self.silence.setVisible(self.silent)
        self.footer.reveal(shown=self.silent or self.underMouse())
        figures = final_text(message.stats) if message.stats else ""
        note = _note(message.status)
        self.figures.setText(" · ".join(part for part in (note, figures) if part))
        self.figures.setToolTip(final_tooltip(message.stats) if message.stats else "")
        if self.view and not self.streaming:
            self.view.set_marks(message.marks)
        self._show_card()

    def set_state(self, state: RowState) -> None:
        """Show where the answer stands, and what can be done."""
        super().set_state(state)
        self._show_card()

    def leave_to_card(self, *, told: bool) -> None:
        """Do not say why the answer failed while another card does."""
        self._told_elsewhere = told
        if self.card is not None:
            self.card.setVisible(not told)

    def _append(self, text: str) -> None:
        if text:
            self.waiting.hide()
            (self.view or self._make_view()).append(text)

    def _begin_again(self, text: str) -> None:
        """Make the view one that grows: a finished one takes no more text."""
        if self.view:
            self._layout.removeWidget(self.view)
            self.view.deleteLater()
            self.view = None
        self._append(text)

    def _waiting_line(self) -> QWidget:
        line = QWidget(self)
        line.setFixedHeight(_LINE_HEIGHT)
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(Pulse(self._theme, line))
        row.addWidget(self.words, 1)
        return line

    def _silence_line(self) -> QLabel:
        line = QLabel(tr("The model said nothing."), self)
        line.setProperty("tone", "secondary")
        return line

    def _show_card(self) -> None:
        fix = self.state.fix
        note = _note(self.message.status)
        says = self.message.error or (f"{note}." if fix and note else ""), fix
        is_bare = bool(says[0]) and not (self.message.text or self.message.thinking)
        self.footer.setVisible(not is_bare or self.state.place.of > 1)
        if says == self._card_says:
            return
        self._card_says = says
        if self.card is not None:
            self._layout.removeWidget(self.card)
            self.card.deleteLater()
            self.card = None
        if says[0]:
            self.card = ErrorCard(self._theme, *says, self)
            self.card.pressed.connect(lambda: self.fix_pressed.emit(self.message.id))
            self._layout.insertWidget(self._layout.indexOf(self.footer), self.card)
            self.card.setVisible(not self._told_elsewhere)

    def _make_view(self) -> AnswerView:
        self.view = AnswerView(self._theme.render_style(), self)
        self.view.link_activated.connect(self.link_activated)
        self._show_tint()
        self._layout.insertWidget(self._layout.indexOf(self.thoughts or self.waiting) + 1, self.view)
        self.view.show()
        self._order_tabs()
        return self.view

    def _order_tabs(self) -> None:
        """Let the keyboard go through the row as the eye does."""
        stops: list[QWidget] = [self.thoughts.head] if self.thoughts else []
        stops += [self.view] if self.view else []
        for before, after in pairwise([*stops, *self.footer.stops()]):
            QWidget.setTabOrder(before, after)

    def _make_thoughts(self) -> ThinkingCard:
        self.thoughts = ThinkingCard(self._theme, self)
        self._layout.insertWidget(self._layout.indexOf(self.waiting) + 1, self.thoughts)
        self.thoughts.show()
        self._order_tabs()
        return self.thoughts

    def _restyle(self) -> None:
        if self.view:
            self.view.set_style(self._theme.render_style())

    def _show_tint(self) -> None:
        if self.view:
            self.view.set_tinted(on=self._theme.tinted)


def _note(status: MessageStatus) -> str:
    """Return what is to be said of how an answer ended."""
    return {
        MessageStatus.STOPPED: tr("Stopped"),
        MessageStatus.LENGTH: tr("Ended at the length limit"),
        MessageStatus.INTERRUPTED: tr("Interrupted when MTPLX closed"),
    }.get(status, "")


def _labels() -> dict[RowAction, str]:
    return {
        RowAction.COPY: tr("Copy answer"),
        RowAction.REGENERATE: tr("Answer again"),
        RowAction.RESUME: tr("Continue this answer"),
        RowAction.FOCUSED: tr("Answer Again, More Focused"),
        RowAction.VARIED: tr("Answer Again, More Varied"),
        RowAction.OTHER_MODEL: tr("Answer Again With"),
        RowAction.DETAILS: tr("Details…"),
        RowAction.DELETE: tr("Delete Answer and What Follows"),
    }
