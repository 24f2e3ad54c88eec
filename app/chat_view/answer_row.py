"""The row of an answer: thoughts, text, error, and its statistics."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from app.chat.conversation import Message, MessageStatus
from app.chat.generation import RowAction, RowState
from app.chat.metrics import final_text, final_tooltip
from app.chat_view.message_row import MessageRow, RowFooter
from app.chat_view.message_view import AnswerView
from app.i18n import tr
from app.render.markdown import sanitize
from app.render.plain_text import append_plain, write_plain
from app.render.style import Formats
from app.theme import SMALL_PX, SPACE_M, SPACE_S
from app.widgets.cards import ErrorCard
from app.widgets.feedback import Pulse
from app.widgets.fitted_text import FittedText
from app.widgets.labels import ElidedLabel
from app.widgets.layouts import hbox, vbox
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from app.chat.generation import Piece
    from app.render.style import RenderStyle
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
    """An answer: what it waits for, its thoughts and text, its error, and a footer with its statistics.

    Signals:
        fix_pressed(str): The button of the error card was pressed, for the answer with this id.
        models_wanted(QMenu, str): This menu is about to open; it is to hold the models that could give the answer with
            this id instead.
        link_activated(QUrl): A link in the answer was chosen.
    """

    fix_pressed = Signal(str)
    models_wanted = Signal(object, str)
    link_activated = Signal(QUrl)

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(theme, message, parent)
        self.card: ErrorCard | None = None
        self._card_content = ("", "")
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
        self.figures.setFont(theme.tabular_font(SMALL_PX))
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
        """Whether the answer is still being generated or waited for."""
        return self.message.status is MessageStatus.STREAMING

    @property
    def silent(self) -> bool:
        """Whether the answer ended well without any text."""
        return self.message.status is MessageStatus.DONE and not (self.message.text or self.message.error)

    def append(self, piece: Piece) -> None:
        if piece.thinking:
            self.waiting.hide()
            (self.thoughts or self._make_thoughts()).append(piece.thinking)
            self._thinks = True
        if piece.text and self._thinks and self.thoughts:
            self.thoughts.finish(piece.thought_ms)
            self._thinks = False
        self._append(piece.text)

    def set_waiting(self, text: str) -> None:
        """Show what the answer waits for, as long as it has no text."""
        self.words.setText(text)

    def show_message(self, message: Message) -> None:
        """Show the status of the answer: statistics, a note, or an error; or that it is being continued."""
        continued = message.status is MessageStatus.STREAMING and not self.streaming
        self.message = message
        if continued and self.view:
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
        super().set_state(state)
        self._show_card()

    def leave_to_card(self, *, told: bool) -> None:
        """Hide the error card while the card above the composer explains the error."""
        self._told_elsewhere = told
        if self.card is not None:
            self.card.setVisible(not told)

    def _append(self, text: str) -> None:
        if text:
            self.waiting.hide()
            (self.view or self._make_view()).append(text)

    def _begin_again(self, text: str) -> None:
        """Replace the view by one that grows: a finished one takes no more text."""
        if self.view:
            self._layout.removeWidget(self.view)
            self.view.deleteLater()
            self.view = None
        self._append(text)

    def _waiting_line(self) -> QWidget:
        line = QWidget(self)
        line.setFixedHeight(_LINE_HEIGHT)
        hbox(Pulse(self._theme, line), (self.words, 1), parent=line, spacing=SPACE_S)
        return line

    def _silence_line(self) -> QLabel:
        line = QLabel(tr("The model said nothing."), self)
        line.setProperty("tone", "secondary")
        return line

    def _show_card(self) -> None:
        fix = self.state.fix
        note = _note(self.message.status)
        content = self.message.error or (f"{note}." if fix and note else ""), fix
        is_bare = bool(content[0]) and not (self.message.text or self.message.thinking)
        self.footer.setVisible(not is_bare or self.state.place.of > 1)
        if content == self._card_content:
            return
        self._card_content = content
        if self.card is not None:
            self._layout.removeWidget(self.card)
            self.card.deleteLater()
            self.card = None
        if content[0]:
            self.card = ErrorCard(self._theme, *content, self)
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
    """Return a note about how an answer ended, "" for none."""
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


_FLUSH_MS = 100
_TICK_MS = 1000
_ICON = 16
_BAR = 2.0
# Characters; longer thoughts take long to lay out, and only their end is shown.
_MAX_SHOWN = 60_000


class ThinkingCard(QWidget):
    """The thoughts of an answer. Closed at first, and without cost while it is; open, it shows them as they stream.

    `view`, which shows the thoughts, is made when the card is opened for the first time.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pieces: list[str] = []
        self._shown = 0  # number of pieces that are in the view
        self._started: float | None = None
        self.view: FittedText | None = None
        self.head = QPushButton(self)
        self.head.setObjectName("thinking")
        self.head.setCheckable(True)
        self.head.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.head.setFont(theme.tabular_font(SMALL_PX))
        self.head.toggled.connect(self._toggled)
        self._layout = vbox(parent=self, spacing=SPACE_S)
        self._layout.addWidget(self.head, 0, Qt.AlignmentFlag.AlignLeft)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._throttle = Throttle(_FLUSH_MS, self)
        self._throttle.due.connect(self._flush)
        self._clock = QTimer(self, interval=_TICK_MS)
        self._clock.timeout.connect(self._tick)
        theme.restyling.add(self._restyle)
        self._set_head(tr("Thinking…"))

    def append(self, text: str) -> None:
        if self._started is None:
            self._started = time.monotonic()
            if self.isVisible():
                self._clock.start()
        self._pieces.append(text)
        if self.is_open:
            self._throttle.request()

    def finish(self, thought_ms: int) -> None:
        self._clock.stop()
        self._started = None
        if self.is_open:
            self._throttle.cancel()
            self._flush()
        self._set_head(thought_words(thought_ms))

    def set_text(self, text: str, thought_ms: int) -> None:
        self._pieces = [text]
        self._shown = 0
        self._clear()
        self.finish(thought_ms)

    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def is_open(self) -> bool:
        return self.head.isChecked()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._started is not None:
            self._tick()
            self._clock.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.view is not None and self.is_open:
            box = self.view.geometry()
            painter = QPainter(self)
            bar = QRectF(0, box.top(), _BAR, box.height())
            painter.fillRect(bar, QColor(self._theme.palette.border))

    def _tick(self) -> None:
        if self._started is not None:
            seconds = int(time.monotonic() - self._started)
            self._set_head(tr("Thinking… {seconds} s").format(seconds=seconds) if seconds else tr("Thinking…"))

    def _set_head(self, text: str) -> None:
        self.head.setText(text)
        self.head.setAccessibleName(text)
        self.head.setAccessibleDescription(tr("Hides the thoughts") if self.is_open else tr("Shows the thoughts"))
        palette = self._theme.palette
        icon = "chevron-down" if self.is_open else "chevron-right"
        self.head.setIcon(self._theme.icons.icon(icon, palette.secondary, palette.tertiary, _ICON))

    def _toggled(self) -> None:
        if self.is_open and self.view is None:
            self._make_view()
        if self.view is not None:
            self.view.setVisible(self.is_open)
        if self.is_open:
            self._flush()
        self._set_head(self.head.text())
        self.update()

    def _make_view(self) -> None:
        self.view = FittedText(self)
        self.view.setAccessibleName(tr("Thoughts"))
        self._layout.addWidget(self.view)
        self._layout.setContentsMargins(0, 0, 0, SPACE_S)
        self.view.setViewportMargins(SPACE_M, 0, 0, 0)
        self._clear()

    def _clear(self) -> None:
        if self.view is not None:
            write_plain(self.view.document(), "", self._style())
            self.view.take_colors(self._style())
            self._shown = 0

    def _flush(self) -> None:
        if self.view is None:
            return
        text = "".join(self._pieces[self._shown :])
        if self._shown == 0:
            text = text.lstrip("\n")[-_MAX_SHOWN:]
        self._shown = len(self._pieces)
        append_plain(self.view.document(), sanitize(text), Formats(self._style()))
        self.view.fit()
        self.update()

    def _restyle(self) -> None:
        self._clear()
        if self.is_open:
            self._flush()
        self._set_head(self.head.text())

    def _style(self) -> RenderStyle:
        style = self._theme.render_style()
        return replace(style, text=style.secondary, text_size=style.text_size - 1)


def thought_words(thought_ms: int) -> str:
    seconds = round(thought_ms / 1000)
    if seconds < 1:
        return tr("Thought for a moment")
    if seconds < 60:
        return tr("Thought for {seconds} s").format(seconds=seconds)
    return tr("Thought for {minutes} min {seconds} s").format(minutes=seconds // 60, seconds=seconds % 60)
