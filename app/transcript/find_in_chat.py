"""Finds words in the messages of a chat, those that are not built yet among them, and goes to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat.conversation import Role
from app.chat.matching import MOST, spans
from app.render.intake import clean
from app.transcript.answer_row import AnswerRow

if TYPE_CHECKING:
    from app.transcript.find_bar import FindBar
    from app.transcript.message_view import AnswerView
    from app.transcript.question_row import QuestionRow
    from app.transcript.transcript import Transcript
    from app.transcript.user_bubble import UserBubble


@dataclass(frozen=True, slots=True)
class Match:
    """Where the words stand in the cleaned source of a message; `number` counts within the message."""

    message_id: str
    number: int
    start: int
    end: int


class FindInChat(QObject):
    """Connects a bar with a transcript. Messages are marked when they come into view.

    Args:
        bar: Where words are typed.
        transcript: What is searched.
    """

    def __init__(self, bar: FindBar, transcript: Transcript) -> None:
        super().__init__(bar)
        self._bar = bar
        self._transcript = transcript
        self._matches: list[Match] = []
        self._now: int | None = None
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._marked: set[str] = set()
        bar.searched.connect(self.search)
        bar.moved.connect(self.move)
        bar.closed.connect(self._end)
        transcript.built.connect(self._mark)
        transcript.verticalScrollBar().valueChanged.connect(self._mark)

    def search(self, wanted: str) -> None:
        """Find all, and go to the first one from what is in view on."""
        self._look_for(wanted)
        self._now = self._nearest()
        self._show()

    def move(self, step: int) -> None:
        """Go to the next one, or the one before; round again at the end."""
        self._look_for(self._bar.field.text())
        if self._matches:
            self._now = self._nearest() if self._now is None else (self._now + step) % len(self._matches)
        self._show()

    def refresh(self) -> None:
        """Look again: the messages are other ones now. Nothing is scrolled."""
        if self._bar.isVisible():
            self._look_for(self._bar.field.text())
            self._show_count()
            self._mark()

    def _look_for(self, wanted: str) -> None:
        before = self._match()
        self._matches, self._spans = [], {}
        for message, text in self._transcript.texts():
            found = list(spans(clean(text), wanted, markup=message.role is Role.ASSISTANT))
            if found:
                self._spans[message.id] = found
                self._matches += [Match(message.id, number, *span) for number, span in enumerate(found)]
        self._marked = set()
        same = (index for index, match in enumerate(self._matches) if match == before)
        self._now = next(same, None)

    def _match(self) -> Match | None:
        return self._matches[self._now] if self._now is not None and self._matches else None

    def _nearest(self) -> int | None:
        """Return the first match in or below what is in view, else the last one above."""
        if not self._matches:
            return None
        order = {message.id: number for number, message in enumerate(self._transcript.messages())}
        top = self._transcript.first_in_view()
        first = order.get(top.message.id, 0) if top else 0
        below = (index for index, match in enumerate(self._matches) if order[match.message_id] >= first)
        return next(below, len(self._matches) - 1)

    def _show(self) -> None:
        self._show_count()
        self._marked = set()
        self._mark()
        self._go()

    def _show_count(self) -> None:
        capped = any(len(found) == MOST for found in self._spans.values())
        self._bar.show_count(self._now, len(self._matches), capped=capped)

    def _go(self) -> None:
        """Go to the match that is looked at, when its message is built; else build on."""
        match = self._match()
        if match is None or not self._bar.isVisible():
            return
        row = self._transcript.row(match.message_id)
        if row is None:
            if self._transcript.build_more():
                QTimer.singleShot(0, self, self._go)
            return
        self._mark_row(row)
        self._transcript.go_to(row, _view(row))

    def _mark(self) -> None:
        """Mark the messages that are in view."""
        if not self._bar.isVisible():
            return
        for row in self._transcript.rows_in_view():
            if row.message.id not in self._marked:
                self._mark_row(row)

    def _mark_row(self, row: AnswerRow | QuestionRow) -> None:
        self._marked.add(row.message.id)
        match = self._match()
        now = match.number if match is not None and match.message_id == row.message.id else None
        view = _view(row)
        if view is not None:
            view.show_found(self._spans.get(row.message.id, ()), now)

    def _end(self) -> None:
        self._matches, self._spans, self._now, self._marked = [], {}, None, set()
        for row in self._transcript.rows:
            view = _view(row)
            if view is not None:
                view.show_found((), None)


def _view(row: AnswerRow | QuestionRow) -> AnswerView | UserBubble | None:
    return row.view if isinstance(row, AnswerRow) else row.bubble
