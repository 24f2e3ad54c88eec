"""The last step before a message is asked: it must fit the context window, and if not there are ways out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.branches import question_of
from app.chat.context_use import first_to_read, raised_window
from app.chat.prompting import read_path, with_files
from app.translate import tr
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.chat.chat_settings import ChatSettings
    from app.chat.context_watch import ContextWatch, Draft, Weighed
    from app.chat.conversation import Attachment, Message
    from app.chat.session import ChatSession

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
        shorten: Lets the person make it shorter.
    """

    tokens: int
    window: int
    largest: int
    path: Sequence[Message]
    counts: Sequence[int]
    again: Callable[[], None]
    alone: Callable[[], None]
    shorten: Callable[[], None]


class Sender(QObject):
    """Passes messages on to the session, unless they do not fit; nothing that was typed is lost.

    Signals:
        waiting(bool): A message is being weighed, or no longer.
        sent: It was taken.
        blocked(str, object): What does not fit, and the choices, each a name and what it does.
        unblocked: What was said of that is over.
        shorten(str): A message that was sent already is to be made shorter; "" is the one that is typed.
    """

    waiting = Signal(bool)
    sent = Signal()
    blocked = Signal(str, object)
    unblocked = Signal()
    shorten = Signal(str)

    def __init__(self, session: ChatSession, watch: ContextWatch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._watch = watch
        self._chat_id = ""  # in which a message is being weighed
        watch.weighed.connect(self._weighed)
        session.changed.connect(self._look_for_refusal)

    def submit(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Send this if it fits."""
        if self._chat_id or self._session.busy:
            return
        self.unblocked.emit()
        self._chat_id = self._session.chat_id
        self.waiting.emit(True)
        self._watch.weigh(text, attachments)

    def _weighed(self, weighed: Weighed) -> None:
        chat_id, self._chat_id = self._chat_id, ""
        self.waiting.emit(False)
        if chat_id != self._session.chat_id:
            return  # the person has gone elsewhere; what was typed is there as a draft
        draft, use = weighed.draft, weighed.use
        if use is not None and use.is_over:
            self._block(
                _Excess(
                    use.used,
                    use.window,
                    use.largest,
                    weighed.path,
                    weighed.counts,
                    again=partial(self.submit, draft.text, draft.attachments),
                    alone=partial(self._send, draft, alone=True),
                    shorten=lambda: self.shorten.emit(""),
                )
            )
        else:
            self._send(draft)

    def _send(self, draft: Draft, *, alone: bool = False) -> None:
        self.unblocked.emit()
        if self._session.send(draft.text, draft.attachments, alone=alone):
            self.sent.emit()

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
        again = partial(self._session.edits.retry, answer.id)
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
            sentence.format(tokens=f"{excess.tokens:,}", window=f"{excess.window:,}"), tuple(choices)
        )

    def _set(self, again: Callable[[], None], change: Callable[[ChatSettings], ChatSettings]) -> None:
        self.unblocked.emit()
        self._session.set_settings(change(self._session.settings))
        again()

    def _leave(self, shorten: Callable[[], None]) -> None:
        self.unblocked.emit()
        shorten()
