"""Check and send what the composer holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import find_message, question_of
from app.chat.prompt import first_to_read, raised_window, read_path, with_files
from app.chat_view.message_editor import EditedMessage
from app.i18n import tr
from app.session.context_meter import UnsentMessage
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.chat.conversation import Attachment, Message
    from app.chat.settings import ChatSettings
    from app.session.actions import ChatActions
    from app.session.context_meter import ContextMeter, Weighed
    from app.session.session import ChatSession


Choice = tuple[str, "Callable[[], None]"]


@dataclass(frozen=True, slots=True)
class _Excess:
    """A prompt that is too long.

    Attributes:
        tokens: How long it is.
        window: What it must be shorter than.
        largest: What the window can be made.
        path: The messages in it that were there before.
        counts: The tokens of each.
        again: Sends it once more.
        alone: Sends it without anything before it.
        shorten: Lets the user make it shorter.
        answer_id: The answer that failed for it, "" where nothing was asked.
    """

    tokens: int
    window: int
    largest: int
    path: Sequence[Message]
    counts: Sequence[int]
    again: Callable[[], None]
    alone: Callable[[], None]
    shorten: Callable[[], None]
    answer_id: str = ""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Something that is asked if it fits.

    Attributes:
        chat_id: In which chat.
        draft: What it adds to the prompt.
        go: Asks it.
        again: Tries it once more.
        alone: Asks it without anything before it.
        shorten: Lets the user make it shorter.
        question_id: The question, where it has been asked before: what comes before it can be left out.
    """

    chat_id: str
    draft: UnsentMessage
    go: Callable[[], None]
    again: Callable[[], None]
    alone: Callable[[], None]
    shorten: Callable[[], None]
    question_id: str = ""


class SendGuard(QObject):
    """Passes messages on to the session, unless they do not fit; nothing that was typed is lost.

    Signals:
        waiting(bool): A message is being weighed, or no longer.
        sent: What was typed was taken.
        edited(str): What was written in the place of this message was taken.
        blocked(str, object, str): What does not fit, the choices, each a name and what it does, and the answer that
            failed for it, "" where nothing was asked.
        unblocked: What was said of that is over.
        shorten(str): A message that was sent already is to be made shorter; "" is the one that is typed.
    """

    waiting = Signal(bool)
    sent = Signal()
    edited = Signal(str)
    blocked = Signal(str, object, str)
    unblocked = Signal()
    shorten = Signal(str)

    def __init__(
        self, session: ChatSession, actions: ChatActions, meter: ContextMeter, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._actions = actions
        self._meter = meter
        self._attempt: _Attempt | None = None  # is being weighed
        meter.weighed.connect(self._weighed)
        session.changed.connect(self._look_for_refusal)

    def submit(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Send this if it fits."""
        draft = UnsentMessage(text, tuple(attachments))
        self._weigh(
            _Attempt(
                self._session.chat_id,
                draft,
                go=partial(self._send, draft),
                again=partial(self.submit, text, attachments),
                alone=partial(self._send, draft, alone=True),
                shorten=lambda: self.shorten.emit(""),
            )
        )

    def edit(self, message_id: str, written: EditedMessage) -> None:
        """Ask this in the place of a question if it fits."""
        old = find_message(self._session.shown, message_id)
        if written == EditedMessage(old.text, old.attachments):
            self._edit(message_id, written)
            return
        self._weigh(
            _Attempt(
                self._session.chat_id,
                UnsentMessage(written.text, written.attachments, old.parent_id),
                go=partial(self._edit, message_id, written),
                again=partial(self.edit, message_id, written),
                alone=partial(self._edit, message_id, written, alone=True),
                shorten=lambda: self.shorten.emit(message_id),
            )
        )

    def repeat(self, answer_id: str, ask: Callable[[], None]) -> None:
        """Do what has the question of an answer answered once more if the question still fits."""
        question = question_of(self._session.shown, answer_id)
        if question is not None:
            self._ask_again(
                UnsentMessage(after=question.id), question, ask, again=partial(self.repeat, answer_id, ask)
            )

    def resume(self, answer_id: str) -> None:
        """Have a cut answer written on if there is room for more of it."""
        question = question_of(self._session.shown, answer_id)
        if question is not None:
            ask = partial(self._actions.resume, answer_id)
            self._ask_again(UnsentMessage(), question, ask, again=partial(self.resume, answer_id))

    def _ask_again(
        self, draft: UnsentMessage, question: Message, ask: Callable[[], None], *, again: Callable[[], None]
    ) -> None:
        self._weigh(
            _Attempt(
                self._session.chat_id,
                draft,
                go=ask,
                again=again,
                alone=partial(self._set, again, lambda old: replace(old, reads_from=question.id)),
                shorten=lambda: self.shorten.emit(question.id),
                question_id=question.id,
            )
        )

    def _weigh(self, attempt: _Attempt) -> None:
        if self._attempt is not None or self._session.busy:
            return
        self.unblocked.emit()
        self._attempt = attempt
        self.waiting.emit(True)
        self._meter.weigh(attempt.draft)

    def _weighed(self, weighed: Weighed) -> None:
        attempt, self._attempt = self._attempt, None
        self.waiting.emit(False)
        if attempt is None or attempt.chat_id != self._session.chat_id:
            return  # the user has gone elsewhere; what was typed is there as a draft
        use = weighed.use
        if use is None or not use.is_over:
            attempt.go()
            return
        ids = [message.id for message in weighed.path]
        end = ids.index(attempt.question_id) if attempt.question_id in ids else len(ids)
        self._block(
            _Excess(
                use.used,
                use.window,
                use.largest,
                weighed.path[:end],
                weighed.counts[:end],
                again=attempt.again,
                alone=attempt.alone,
                shorten=attempt.shorten,
            )
        )

    def _send(self, draft: UnsentMessage, *, alone: bool = False) -> None:
        self.unblocked.emit()
        if self._actions.send(draft.text, draft.attachments, alone=alone):
            self.sent.emit()

    def _edit(self, message_id: str, written: EditedMessage, *, alone: bool = False) -> None:
        self.unblocked.emit()
        if self._actions.edit(message_id, written.text, written.attachments, alone=alone):
            self.edited.emit(message_id)

    def _look_for_refusal(self, answer: Message) -> None:
        """Offer the same ways out when only the engine could say that it does not fit."""
        fault = self._session.fault(answer)
        if fault is None or fault.kind is not ErrorKind.CONTEXT_OVERFLOW or fault.tokens is None:
            return
        if answer.chat_id != self._session.chat_id or fault.window is None or not answer.error:
            return
        chat = self._session.shown
        question = question_of(chat, answer.id)
        if question is None:
            return
        path = [message for message in read_path(chat) if message.id not in (answer.id, question.id)]
        lengths = [len(with_files(message.text, message.attachments)) for message in path]
        everything = sum(lengths) + len(with_files(question.text, question.attachments))
        counts = [fault.tokens * length // max(1, everything) for length in lengths]
        again = partial(self._actions.retry, answer.id)
        self._block(
            _Excess(
                fault.tokens,
                fault.window,
                self._session.largest_window,
                path,
                counts,
                again=again,
                alone=partial(self._set, again, lambda old: replace(old, reads_from=question.id)),
                shorten=lambda: self.shorten.emit(question.id),
                answer_id=answer.id,
            )
        )

    def _block(self, excess: _Excess) -> None:
        choices: list[Choice] = []
        raised = raised_window(excess.tokens, excess.window, excess.largest)
        if raised is not None:
            name = tr("Raise the window to {tokens}").format(tokens=f"{raised:,}")
            context = None if raised == excess.largest else raised
            choices.append(
                (name, partial(self._set, excess.again, lambda old: replace(old, context=context)))
            )
        first = first_to_read(excess.path, excess.counts, excess.tokens, excess.window)
        if first is not None:
            name = tr("Leave out the oldest messages") if first else tr("Leave out all earlier messages")
            later = partial(self._set, excess.again, lambda old: replace(old, reads_from=first))
            choices.append((name, later if first else excess.alone))
        choices.append((tr("Shorten"), partial(self._leave, excess.shorten)))
        sentence = tr("With this message the chat is {tokens} tokens long, and its window holds {window}.")
        self.blocked.emit(
            sentence.format(tokens=f"{excess.tokens:,}", window=f"{excess.window:,}"),
            tuple(choices),
            excess.answer_id,
        )

    def _set(self, again: Callable[[], None], change: Callable[[ChatSettings], ChatSettings]) -> None:
        self.unblocked.emit()
        self._session.set_settings(change(self._session.settings))
        again()

    def _leave(self, shorten: Callable[[], None]) -> None:
        self.unblocked.emit()
        shorten()
