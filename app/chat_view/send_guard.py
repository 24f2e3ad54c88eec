"""Checks that a message fits into the context window before it is sent, and offers the ways out if it does not."""

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
"""Name of a way out, and what it does."""


@dataclass(frozen=True, slots=True)
class _WaysOut:
    """What the user can do about a prompt that is too long.

    Attributes:
        again: Sends it once more, with other settings.
        alone: Sends it without the messages before it.
        shorten: Lets the user shorten it.
    """

    again: Callable[[], None]
    alone: Callable[[], None]
    shorten: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A message or a repeated question whose prompt is being counted.

    Attributes:
        draft: What it adds to the prompt.
        question_id: The question, when it has been asked before: what comes before it can be left out.
    """

    chat_id: str
    draft: UnsentMessage
    send: Callable[[], None]
    ways: _WaysOut
    question_id: str = ""


class SendGuard(QObject):
    """Passes messages on to the session if their prompts fit into the context window; no typed text is lost.

    Signals:
        waiting(bool): Whether the prompt of a message is being counted.
        edited(str): The new text of the message with this id was sent.
        blocked(str, object, str): Why a message does not fit, the `Choice`s, and the id of the answer that failed for
            it, "" where nothing was sent.
        unblocked: The last `blocked` is over.
        shorten(str): The message with this id is to be shortened; "" is the one that is typed.
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
        self._attempt: _Attempt | None = None  # whose prompt is being counted
        meter.weighed.connect(self._weighed)
        session.changed.connect(self._check_refusal)

    def submit(self, text: str, attachments: Sequence[Attachment]) -> None:
        draft = UnsentMessage(text, tuple(attachments))
        ways = _WaysOut(
            again=partial(self.submit, text, attachments),
            alone=partial(self._send, draft, alone=True),
            shorten=partial(self.shorten.emit, ""),
        )
        self._weigh(_Attempt(self._session.chat_id, draft, partial(self._send, draft), ways))

    def edit(self, message_id: str, written: EditedMessage) -> None:
        old = find_message(self._session.shown, message_id)
        if written == EditedMessage(old.text, old.attachments):
            self._edit(message_id, written)
            return
        draft = UnsentMessage(written.text, written.attachments, old.parent_id)
        ways = _WaysOut(
            again=partial(self.edit, message_id, written),
            alone=partial(self._edit, message_id, written, alone=True),
            shorten=partial(self.shorten.emit, message_id),
        )
        self._weigh(_Attempt(self._session.chat_id, draft, partial(self._edit, message_id, written), ways))

    def repeat(self, answer_id: str, ask: Callable[[], None]) -> None:
        """Call `ask`, which has the question of an answer answered once more, if the question still fits."""
        question = question_of(self._session.shown, answer_id)
        if question is not None:
            again = partial(self.repeat, answer_id, ask)
            self._ask_again(UnsentMessage(after=question.id), question, ask, again)

    def resume(self, answer_id: str) -> None:
        """Have a cut answer continued if there is room for more of it."""
        question = question_of(self._session.shown, answer_id)
        if question is not None:
            ask = partial(self._actions.resume, answer_id)
            self._ask_again(UnsentMessage(), question, ask, partial(self.resume, answer_id))

    def _ask_again(
        self, draft: UnsentMessage, question: Message, ask: Callable[[], None], again: Callable[[], None]
    ) -> None:
        ways = self._ways_of(question, again)
        self._weigh(_Attempt(self._session.chat_id, draft, ask, ways, question.id))

    def _ways_of(self, question: Message, again: Callable[[], None]) -> _WaysOut:
        return _WaysOut(
            again,
            alone=partial(self._set, again, lambda old: replace(old, reads_from=question.id)),
            shorten=partial(self.shorten.emit, question.id),
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
            return  # the user has gone elsewhere; the typed text is kept as a draft
        use = weighed.use
        if use is None or not use.is_over:
            attempt.send()
            return
        ids = [message.id for message in weighed.path]
        end = ids.index(attempt.question_id) if attempt.question_id in ids else len(ids)
        self._block(
            attempt.ways,
            tokens=use.used,
            window=use.window,
            largest=use.largest,
            path=weighed.path[:end],
            counts=weighed.counts[:end],
        )

    def _send(self, draft: UnsentMessage, *, alone: bool = False) -> None:
        self.unblocked.emit()
        if self._actions.send(draft.text, draft.attachments, alone=alone):
            self.sent.emit()

    def _edit(self, message_id: str, written: EditedMessage, *, alone: bool = False) -> None:
        self.unblocked.emit()
        if self._actions.edit(message_id, written.text, written.attachments, alone=alone):
            self.edited.emit(message_id)

    def _check_refusal(self, answer: Message) -> None:
        """Offer the same ways out when only the engine found that a prompt does not fit."""
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
        self._block(
            self._ways_of(question, partial(self._actions.retry, answer.id)),
            tokens=fault.tokens,
            window=fault.window,
            largest=self._session.largest_window,
            path=path,
            counts=counts,
            answer_id=answer.id,
        )

    def _block(
        self,
        ways: _WaysOut,
        *,
        tokens: int,
        window: int,
        largest: int,
        path: Sequence[Message],
        counts: Sequence[int],
        answer_id: str = "",
    ) -> None:
        """Offer the ways out of a prompt of `tokens`, with the messages before it and the tokens of each."""
        choices: list[Choice] = []
        raised = raised_window(tokens, window, largest)
        if raised is not None:
            name = tr("Raise the window to {tokens}").format(tokens=f"{raised:,}")
            context = None if raised == largest else raised
            choices.append((name, partial(self._set, ways.again, lambda old: replace(old, context=context))))
        first = first_to_read(path, counts, tokens, window)
        if first is not None:
            name = tr("Leave out the oldest messages") if first else tr("Leave out all earlier messages")
            later = partial(self._set, ways.again, lambda old: replace(old, reads_from=first))
            choices.append((name, later if first else ways.alone))
        choices.append((tr("Shorten"), partial(self._leave, ways.shorten)))
        sentence = tr("With this message the chat is {tokens} tokens long, and its window holds {window}.")
        self.blocked.emit(sentence.format(tokens=f"{tokens:,}", window=f"{window:,}"), tuple(choices), answer_id)

    def _set(self, again: Callable[[], None], change: Callable[[ChatSettings], ChatSettings]) -> None:
        self.unblocked.emit()
        self._session.set_settings(change(self._session.settings))
        again()

    def _leave(self, shorten: Callable[[], None]) -> None:
        self.unblocked.emit()
        shorten()
