"""The right side of the main window: header, transcript or empty state, composer, and how they are connected."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app.chat.conversation import MessageStatus, find_message, subtree
from app.chat.generation import RowAction
from app.chat.metrics import details_of
from app.chat_view.composer import Composer
from app.chat_view.composer_controller import ComposerController, DraftKeeper
from app.chat_view.empty_state import EmptyState
from app.chat_view.find import FindBar, FindInChat
from app.chat_view.transcript import Transcript
from app.i18n import marked, tr
from app.theme import COLUMN_WIDTH, SCROLL_BAR_WIDTH, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS
from app.widgets.buttons import IconButton, MenuButton
from app.widgets.cards import ErrorCard
from app.widgets.feedback import LoadingBar, announce
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QMenu

    from app.chat.conversation import Conversation, Message
    from app.chat_view.model_status import ModelStatus
    from app.session.actions import ChatActions
    from app.session.context_meter import ContextMeter
    from app.session.session import ChatSession
    from app.storage.settings import SendKey
    from app.theme import Theme


# Aligns the composer with the column of messages, which leaves room for the scroll bar.
_SIDE = SPACE_XL + SCROLL_BAR_WIDTH

_TEMPERATURE_FACTORS = {RowAction.FOCUSED: 0.5, RowAction.VARIED: 1.5}

_COMPLETE = marked("The answer is complete.")
_SPOKEN = {MessageStatus.STOPPED: marked("The answer was stopped.")}


class ChatPane(QWidget):
    """Shows the chat of the session, and passes the user's actions on to it.

    Attributes:
        composing: Controller of the composer; None until `measure_context`.
        missing: Card above the composer of a chat with messages while there is no model; None otherwise.

    Signals:
        undo_offered(str, Callable[[], None]): What was done, and the function that undoes it.
    """

    model_action_pressed = Signal()
    undo_offered = Signal(str, object)

    def __init__(self, theme: Theme, session: ChatSession, actions: ChatActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._actions = actions
        self._theme = theme
        self.missing: ErrorCard | None = None
        self.composing: ComposerController | None = None
        self._chat_id = ""
        self.setObjectName("chatPane")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.header = Header(theme, self)
        self.empty = EmptyState(theme)
        self.transcript = Transcript(theme, actions.states)
        self.composer = Composer(theme)
        self.drafts = DraftKeeper(self.composer, session)
        self.pages = QStackedWidget(self)
        self.pages.setObjectName("pages")
        # They take the room that is left: cards above the composer must be readable.
        self.pages.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.transcript)
        self.find_bar = FindBar(theme, self)
        self._finder = FindInChat(self.find_bar, self.transcript)
        find_row = hbox(1, self.find_bar, margins=(SPACE_L, 0, SPACE_L, 0))
        # Rows that are aligned with the column of messages.
        self._missing_row = hbox(1, 1, margins=(_SIDE, 0, _SIDE, 0))
        self._card_row = hbox(1, 1, margins=(_SIDE, 0, _SIDE, 0))
        self.composer.setMaximumWidth(COLUMN_WIDTH)
        composer_row = hbox(1, (self.composer, 1000), 1, margins=(_SIDE, SPACE_M, _SIDE, SPACE_L))
        rows = (find_row, (self.pages, 1), self._missing_row, self._card_row, composer_row)
        vbox(self.header, *rows, parent=self, spacing=0)
        self._connect()
        self._show(session.shown)

    def measure_context(self, meter: ContextMeter) -> None:
        """Start the controller of the composer, which sends messages that fit according to `meter`."""
        self.composing = ComposerController(
            self._theme,
            self._session,
            self._actions,
            meter,
            self.composer,
            slot=self._card_row,
            area=self,
        )
        self.composing.shorten.connect(self.transcript.edit)
        self.composing.told.connect(self.transcript.leave_to_card)
        outgoing = self.composing.outgoing
        self.transcript.edited.connect(outgoing.edit)
        outgoing.edited.connect(self.transcript.stop_editing)

    def set_send_key(self, key: SendKey) -> None:
        self.composer.edit.send_key = key
        self.transcript.send_key = key

    def stop_reading(self) -> None:
        """Stop reading files: the program ends."""
        if self.composing is not None:
            self.composing.close()

    def copy_last_answer(self) -> None:
        self.transcript.copy_last_answer()

    def show_model(self, status: ModelStatus) -> None:
        """Show the status of the model in an empty chat, and in any chat that it is missing."""
        self.empty.set_content(status.name, status.sentence, status.action, missing=status.missing)
        if self.missing is not None:
            self._missing_row.removeWidget(self.missing)
            self.missing.deleteLater()
            self.missing = None
        if status.missing:
            self.missing = ErrorCard(self._theme, status.sentence, status.action, self)
            self.missing.setMaximumWidth(COLUMN_WIDTH)
            self.missing.pressed.connect(self.model_action_pressed)
            self._missing_row.insertWidget(1, self.missing, 1000)
        self._show_missing()

    def _show_missing(self) -> None:
        if self.missing is not None:
            # An empty chat has a button of its own.
            self.missing.setVisible(self.pages.currentWidget() is self.transcript)

    def _connect(self) -> None:
        session, transcript, composer = self._session, self.transcript, self.composer
        session.opened.connect(self._show)
        session.added.connect(self._add)
        session.rearranged.connect(self._rearrange)
        session.streamed.connect(transcript.append)
        session.changed.connect(transcript.change)
        session.changed.connect(self._announce)
        session.waiting.connect(transcript.set_waiting)
        session.reading.connect(composer.set_reading)
        session.activity.connect(self._show_activity)
        session.listed.connect(self._show_title)
        transcript.fix_pressed.connect(self._actions.retry)
        transcript.chosen.connect(self.act)
        transcript.editing_ended.connect(composer.setFocus)
        self.empty.action_pressed.connect(self.model_action_pressed)
        self.pages.currentChanged.connect(self._show_missing)
        composer.stop_requested.connect(session.stop)
        composer.edit.page_requested.connect(transcript.turn_page)
        self.empty.sample_chosen.connect(self._actions.send)
        self.find_bar.closed.connect(composer.setFocus)
        session.changed.connect(self._finder.refresh)

    def _show(self, conversation: Conversation) -> None:
        # First: a hidden page cannot be laid out.
        self.pages.setCurrentWidget(self.transcript if conversation.messages else self.empty)
        if conversation.chat.id != self._chat_id:
            self.find_bar.dismiss()
            self._chat_id = conversation.chat.id
            self.drafts.show(conversation)
            self.composer.set_busy(busy=self._session.busy)
            self.transcript.show_chat(conversation)
        self._show_title()
        self.composer.setFocus()

    def _rearrange(self, conversation: Conversation) -> None:
        self.pages.setCurrentWidget(self.transcript if conversation.messages else self.empty)
        self.transcript.rearrange(conversation)
        self._finder.refresh()

    def act(self, action: RowAction, message_id: str) -> None:
        if action in (RowAction.REGENERATE, RowAction.RESUME, *_TEMPERATURE_FACTORS):
            self._ask_again(action, message_id)
        elif action is RowAction.EDIT:
            self.transcript.edit(message_id)
        elif action is RowAction.READ_ALL:
            self._session.set_settings(replace(self._session.settings, reads_from=""))
        elif action is RowAction.DETAILS:
            self._show_details(message_id)
        elif action is RowAction.DELETE:
            count = len(subtree(self._session.shown, message_id))
            words = tr("Deleted a message") if count == 1 else tr("Deleted {count} messages").format(count=count)
            self.undo_offered.emit(words, self._actions.delete(message_id))
        elif action in (RowAction.PREVIOUS, RowAction.NEXT):
            self._actions.move(message_id, -1 if action is RowAction.PREVIOUS else 1)

    def answer_with(self, answer_id: str, model: str) -> None:
        """Have the question of an answer answered by another model, this once."""
        if self.composing is not None:
            settings = replace(self._session.settings, model=model)
            ask = partial(self._actions.regenerate, answer_id, settings)
            self.composing.outgoing.repeat(answer_id, ask)

    def _ask_again(self, action: RowAction, answer_id: str) -> None:
        if self.composing is None:
            return
        outgoing = self.composing.outgoing
        if action is RowAction.RESUME:
            outgoing.resume(answer_id)
        elif action in _TEMPERATURE_FACTORS:
            outgoing.repeat(answer_id, partial(self._actions.vary, answer_id, _TEMPERATURE_FACTORS[action]))
        else:
            outgoing.repeat(answer_id, partial(self._actions.regenerate, answer_id))

    def _show_details(self, message_id: str) -> None:
        anchor = self.transcript.footer_of(message_id)
        if anchor is not None:
            rows = details_of(find_message(self._session.shown, message_id))
            DetailsPopover(self._theme, rows, self).show_over(anchor)

    def _add(self, message: Message) -> None:
        if message.chat_id == self._chat_id:
            self.pages.setCurrentWidget(self.transcript)
            self.transcript.add(message)

    def _announce(self, answer: Message) -> None:
        if answer.chat_id == self._chat_id and answer.status is not MessageStatus.STREAMING:
            announce(self.transcript, answer.error or tr(_SPOKEN.get(answer.status, _COMPLETE)))

    def _show_activity(self, busy: frozenset[str]) -> None:
        self.composer.set_busy(busy=self._chat_id in busy)
        self.transcript.refresh()

    def _show_title(self) -> None:
        shown = self._session.shown
        # An empty chat has no title yet.
        self.header.set_title(shown.chat.title if shown.messages else "")


_HEIGHT = 48
_TITLE_PX, _MODEL_PX = 14, 13


class Header(QWidget):
    """The chat's title and the model's name, each with a menu, the buttons of the side panes, and the loading bar."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sidebar_button = IconButton(theme, "sidebar", tr("Hide the sidebar"), size=20, side=32)
        self.title = MenuButton(theme, self)
        self.title.setFont(theme.font(_TITLE_PX, QFont.Weight.DemiBold))
        self.model = MenuButton(theme, self)
        self.model.setFont(theme.tabular_font(_MODEL_PX))
        self.inspector_button = IconButton(theme, "inspector", tr("Show the inspector"), size=20, side=32)
        self.bar = LoadingBar(theme, self)
        items = (self.sidebar_button, self.title, 1, self.model, self.inspector_button)
        head = hbox(*items, margins=(SPACE_S, 0, SPACE_S, 0), spacing=SPACE_XS)
        vbox((head, 1), self.bar, parent=self, spacing=0)
        self.setFixedHeight(_HEIGHT)

    def set_menus(self, chat: QMenu, model: QMenu) -> None:
        self.title.setMenu(chat)
        self.model.setMenu(model)

    def set_title(self, title: str) -> None:
        self.title.setText(title)
        self.title.setAccessibleName(tr("Chat: {title}").format(title=title))
        self.title.setVisible(bool(title))

    def set_model(self, text: str, fraction: float | None = None) -> None:
        """Show the model's name, or what is being loaded and the progress, 0..1."""
        self.model.setText(text)
        self.model.setAccessibleName(tr("Model: {text}").format(text=text))
        self.bar.set_fraction(fraction)


class DetailsPopover(QFrame):
    """Details of an answer: names at the left, selectable values at the right."""

    def __init__(self, theme: Theme, rows: Iterable[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("popover")
        self.setAccessibleName(tr("Details of this answer"))
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, SPACE_M)
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_XS)
        for number, (name, value) in enumerate(rows):
            grid.addWidget(self._label(theme, name, "secondary"), number, 0)
            shown = self._label(theme, value, "")
            shown.setAccessibleName(f"{name}: {value}")
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(shown, number, 1, Qt.AlignmentFlag.AlignRight)

    def show_over(self, anchor: QWidget) -> None:
        """Open above a widget, or below it when there is no room above."""
        self.adjustSize()
        top = anchor.mapToGlobal(QPoint(0, 0))
        screen = anchor.screen().availableGeometry()
        y = top.y() - self.height() - SPACE_XS
        if y < screen.top():
            y = top.y() + anchor.height() + SPACE_XS
        x = min(max(top.x(), screen.left()), screen.right() - self.width())
        self.move(x, y)
        self.show()

    def _label(self, theme: Theme, text: str, tone: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setFont(theme.tabular_font(SMALL_PX))
        label.setProperty("tone", tone)
        return label
