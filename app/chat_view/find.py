"""Find in chat: the bar with the search field, and the search in the messages of the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QWidget

from app.chat.conversation import Role
from app.chat.matching import MOST, spans
from app.chat_view.answer_row import AnswerRow
from app.i18n import tr
from app.render.markdown import sanitize
from app.theme import SMALL_PX, SPACE_S, SPACE_XS
from app.widgets.buttons import IconButton
from app.widgets.layouts import hbox
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from app.chat_view.message_view import AnswerView
    from app.chat_view.question_row import QuestionRow, UserBubble
    from app.chat_view.transcript import Transcript
    from app.theme import Theme


_FIELD_WIDTH = 200
_COUNT_WIDTH = 84
_SEARCH_MS = 60


class FindBar(QFrame):
    """Search field above the transcript, visible only while it is used.

    `moved` carries 1 for the next match, -1 for the one before.
    """

    searched = Signal(str)
    moved = Signal(int)
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self.field = QLineEdit(self)
        self.field.setObjectName("find")
        self.field.setPlaceholderText(tr("Find in chat"))
        self.field.setAccessibleName(tr("Find in chat"))
        self.field.setFixedWidth(_FIELD_WIDTH)
        self.count = QLabel(self)
        self.count.setProperty("tone", "secondary")
        self.count.setFont(theme.tabular_font(SMALL_PX))
        self.count.setMinimumWidth(_COUNT_WIDTH)
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.previous = IconButton(theme, "chevron-up", tr("Previous match"), parent=self)
        self.next = IconButton(theme, "chevron-down", tr("Next match"), parent=self)
        self.close_button = IconButton(theme, "close", tr("Close the search"), parent=self)
        items = (self.field, self.count, self.previous, self.next, self.close_button)
        hbox(*items, parent=self, margins=(SPACE_S, SPACE_XS, SPACE_XS, SPACE_XS), spacing=SPACE_XS)
        self._throttle = Throttle(_SEARCH_MS, self)
        self._throttle.due.connect(lambda: self.searched.emit(self.field.text()))
        self.field.textChanged.connect(self._throttle.request)
        self.previous.clicked.connect(lambda: self.moved.emit(-1))
        self.next.clicked.connect(lambda: self.moved.emit(1))
        self.close_button.clicked.connect(self.dismiss)
        self.field.installEventFilter(self)
        self.show_count(None, 0)
        self.hide()

    def open(self) -> None:
        """Show the field and give it the focus; a text that is in it is searched for again."""
        was_open = self.isVisible()
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if not was_open and self.field.text():
            self.searched.emit(self.field.text())

    def go(self, step: int) -> None:
        """Go to the next match, or with -1 to the one before; open the bar if it is closed."""
        if self.isVisible():
            self.moved.emit(step)
        else:
            self.open()

    def dismiss(self) -> None:
        if self.isVisible():
            self.hide()
            self.closed.emit()

    def show_count(self, now: int | None, total: int, *, capped: bool = False) -> None:
        """Show the index of the current match and the number of all; `capped` means that there may be more."""
        number = f"{total:,}+" if capped else f"{total:,}"
        if not self.field.text().strip():
            text = ""
        elif not total:
            text = tr("Not found")
        elif now is None:
            text = tr("{total} found").format(total=number)
        else:
            text = tr("{now} of {total}").format(now=f"{now + 1:,}", total=number)
        self.count.setText(text)
        self.count.setAccessibleName(text)
        self.previous.setEnabled(total > 0)
        self.next.setEnabled(total > 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._throttle.cancel()
            self.moved.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().eventFilter(watched, event)


@dataclass(frozen=True, slots=True)
class Match:
    """A match in the sanitized source of a message, the `number`-th one of the message from 0 on."""

    message_id: str
    number: int
    start: int
    end: int


class FindInChat(QObject):
    """Searches the messages of a transcript. Matches are highlighted when their message comes into view."""

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
        """Find all matches, and go to the first one in or below what is in view."""
        self._find(wanted)
        self._now = self._nearest()
        self._show()

    def move(self, step: int) -> None:
        """Go to the next match, or with -1 to the one before; wraps around."""
        self._find(self._bar.field.text())
        if self._matches:
            self._now = self._nearest() if self._now is None else (self._now + step) % len(self._matches)
        self._show()

    def refresh(self) -> None:
        """Search again after the messages have changed, without scrolling."""
        if self._bar.isVisible():
            self._find(self._bar.field.text())
            self._show_count()
            self._mark()

    def _find(self, wanted: str) -> None:
        before = self._match()
        self._matches, self._spans = [], {}
        for message, text in self._transcript.texts():
            found = list(spans(sanitize(text), wanted, markup=message.role is Role.ASSISTANT))
            if found:
                self._spans[message.id] = found
                self._matches += [Match(message.id, number, *span) for number, span in enumerate(found)]
        self._marked = set()
        same = (index for index, match in enumerate(self._matches) if match == before)
        self._now = next(same, None)

    def _match(self) -> Match | None:
        return self._matches[self._now] if self._now is not None and self._matches else None

    def _nearest(self) -> int | None:
        """Return the index of the first match in or below what is in view, else of the last one above."""
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
        """Scroll to the current match; while its row is not built, build more."""
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
        """Highlight the matches of the messages that are in view."""
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
