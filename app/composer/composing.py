"""What happens around the composer: files come, the window is watched, and what does not fit is not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.composer.attaching import Attaching
from app.composer.sender import SendGuard
from app.session.context_watch import Draft
from app.theme import COLUMN_WIDTH
from app.translate import tr
from app.widgets.announce import announce
from app.widgets.choice_card import ChoiceCard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QHBoxLayout, QWidget

    from app.chat.conversation import Attachment, Conversation
    from app.composer.composer import Composer
    from app.composer.sender import Choice
    from app.session.actions import ChatActions
    from app.session.context_watch import ContextMeter
    from app.session.session import ChatSession
    from app.theme import Theme


class ComposerController(QObject):
    """Connects the composer of a window to the session.

    Args:
        theme: Gives colours and fonts.
        session: Has the chat that is shown.
        actions: Takes the messages.
        meter: Counts their tokens.
        composer: Where they are typed.
        slot: The row over it where a card can stand, in place 1.
        area: Where files may be dropped.

    Attributes:
        outgoing: Asks what fits.
        card: What was refused and why, with the ways out; None when nothing was.

    Signals:
        shorten(str): The message with this id is to be made shorter.
        told(str): The card says why the answer with this id failed; "" when it does not speak of any.
    """

    shorten = Signal(str)
    told = Signal(str)

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        actions: ChatActions,
        meter: ContextMeter,
        composer: Composer,
        *,
        slot: QHBoxLayout,
        area: QWidget,
    ) -> None:
        super().__init__(area)
        self._theme = theme
        self._session = session
        self._composer = composer
        self._slot = slot
        self._area = area
        self._chat_id = session.chat_id
        self._files: dict[str, tuple[Attachment, ...]] = {}  # of drafts in other chats
        self.card: ChoiceCard | None = None
        self._blocked = False  # whether the card is about a message that does not fit
        self.outgoing = SendGuard(session, actions, meter, self)
        self._attaching = Attaching(composer, area, self._chat_id)
        composer.submitted.connect(self.outgoing.submit)
        composer.draft_changed.connect(meter.touch)
        composer.draft_changed.connect(self._draft_changed)
        meter.follow(lambda: Draft(composer.text(), composer.chips.attachments))
        meter.changed.connect(composer.set_use)
        session.opened.connect(self._opened)
        self._attaching.refused.connect(self._refuse)
        self._attaching.read_elsewhere.connect(self._keep_file)
        sender = self.outgoing
        sender.waiting.connect(composer.edit.setReadOnly)
        sender.sent.connect(self._sent)
        sender.blocked.connect(self._block)
        sender.unblocked.connect(self._drop_card)
        sender.shorten.connect(self._shorten)

    @property
    def unsent_files(self) -> int:
        """How many files wait to be sent, in all chats; they are in memory only."""
        return len(self._composer.chips.attachments) + sum(map(len, self._files.values()))

    def close(self) -> None:
        """Read no more files."""
        self._attaching.close()

    def _draft_changed(self) -> None:
        """What was said of another draft is over; why a file was refused stays."""
        if self._blocked:
            self._drop_card()

    def _block(self, sentence: str, choices: Sequence[Choice], answer_id: str) -> None:
        self._show_card(sentence, choices)
        self._blocked = True
        self.told.emit(answer_id)

    def _sent(self) -> None:
        self._composer.set_text("")
        self._composer.set_attachments(())

    def _opened(self, conversation: Conversation) -> None:
        """Keep the files that were not sent with their chat."""
        if conversation.chat.id == self._chat_id:
            return
        self._drop_card()
        self._files[self._chat_id] = self._composer.chips.attachments
        self._chat_id = conversation.chat.id
        self._attaching.show(self._chat_id)
        self._composer.set_attachments(self._files.pop(self._chat_id, ()))

    def _keep_file(self, chat_id: str, attachment: Attachment) -> None:
        """Let a file wait for its chat."""
        self._files[chat_id] = (*self._files.get(chat_id, ()), attachment)

    def _refuse(self, sentence: str) -> None:
        self._show_card(sentence, ((tr("OK"), self._drop_card),))

    def _show_card(self, sentence: str, choices: Sequence[Choice]) -> None:
        self._drop_card()
        self.card = ChoiceCard(self._theme, sentence, choices, self._area)
        self.card.setMaximumWidth(COLUMN_WIDTH)
        self._slot.insertWidget(1, self.card, 1000)
        self.card.show()
        announce(self.card, sentence)

    def _drop_card(self) -> None:
        self._blocked = False
        if self.card is not None:
            self._slot.removeWidget(self.card)
            self.card.hide()
            self.card.deleteLater()
            self.card = None
            self.told.emit("")

    def _shorten(self, message_id: str) -> None:
        if message_id:
            self.shorten.emit(message_id)
        else:
            self._composer.setFocus()
