"""Ask, answer again, edit, continue, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.chat import conversation
from app.chat.conversation import Message, MessageStatus, Role, new_id, title_from
from app.chat.generation import Generation, GenerationRequest, RowAction, RowState
from app.chat.prompt import prompt_of
from app.i18n import tr
from app.session.session import now_ms
from app.storage.database import UNBEGUN
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.chat.conversation import Attachment, BranchPosition, Conversation
    from app.chat.settings import ChatSettings
    from app.session.queue import GenerationQueue
    from app.session.session import ChatSession
    from app.storage.store import Store


_NO_SUCH_MODEL = (ErrorKind.NOT_FOUND, ErrorKind.REFUSED, ErrorKind.UNSUPPORTED)
# Asking the same again gives the same error.
_HOPELESS = (ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_OVERFLOW)
_AGAIN = {RowAction.REGENERATE, RowAction.FOCUSED, RowAction.VARIED, RowAction.OTHER_MODEL}
_ASKING = {*_AGAIN, RowAction.RESUME}  # these need a question
_HOTTEST = 2.0  # above that no model makes sense
_CUT = (MessageStatus.STOPPED, MessageStatus.LENGTH, MessageStatus.INTERRUPTED)


class ChatActions:
    """Asks, edits, asks again, continues, deletes, and moves between branches.

    Nothing but moving and deleting is done while an answer is to come in the chat. A question goes onto the disk first,
    and then to the engine.
    """

    def __init__(self, session: ChatSession, store: Store, queue: GenerationQueue) -> None:
        self._session = session
        self._store = store
        self._queue = queue

    def send(self, text: str, attachments: Sequence[Attachment] = (), *, alone: bool = False) -> bool:
        """Ask `text` in the chat that is shown, about some files; return whether it was taken.

        With `alone` the model reads nothing of what came before, from now on.
        """
        session = self._session
        if session.busy or session.opening or not (text.strip() or attachments):
            return False
        self._say(text, attachments, session.shown.leaf_id, alone=alone)
        return True

    def edit(
        self, message_id: str, text: str, attachments: Sequence[Attachment] = (), *, alone: bool = False
    ) -> bool:
        """Ask something else in the place of a question, about some files; return whether it was taken.

        With `alone` the model reads nothing of what came before, from now on.
        """
        chat = self._session.shown
        old = conversation.find_message(chat, message_id)
        if self._session.busy or not (text.strip() or attachments):
            return False
        if (text, tuple(attachments)) != (old.text, old.attachments):
            self._session.rearrange(conversation.up_to(chat, old.parent_id))
            self._say(text, attachments, old.parent_id, alone=alone)
        return True

    def regenerate(self, answer_id: str, settings: ChatSettings | None = None) -> None:
        """Have the question of an answer answered once more, beside it; `settings` hold for the new one alone."""
        chat = self._session.shown
        question = conversation.question_of(chat, answer_id)
        if question is not None and not self._session.busy:
            self._session.rearrange(conversation.up_to(chat, question.id))
            self._ask(question, settings=settings)

    def vary(self, answer_id: str, factor: float) -> None:
        """Have a question answered once more, its temperature that many times as high, with a seed of its own."""
        settings, sampler = self._session.settings, self._session.sampler
        warmth = min(sampler.temperature * factor, _HOTTEST)
        other = replace(sampler, temperature=round(warmth, 3), seed=None)
        self.regenerate(answer_id, replace(settings, sampler=other))

    def resume(self, answer_id: str) -> None:
        """Write a cut answer on."""
        answer = conversation.find_message(self._session.shown, answer_id)
        if not self._session.busy and self.can_resume(answer):
            self._resume(answer)

    def retry(self, answer_id: str) -> None:
        """Ask again what a failed answer was to answer; what there is of it stays as a branch.

        Where the chat's own model was what failed, the loaded one is asked, from now on.
        """
        chat = self._session.shown
        failed = conversation.find_message(chat, answer_id)
        question = conversation.question_of(chat, answer_id)
        if question is None or self._session.busy:
            return
        anyway = self._is_too_big(failed)
        if self._needs_other_model(failed):
            self._session.set_settings(replace(self._session.settings, model=""))
        if anyway:
            self._queue.load_anyway(self._session.settings.model)
        elif self._queue.down:
            self._queue.restart()
        self._session.save_again(question)
        if (failed.text or failed.thinking) and not self.can_resume(failed):
            self.regenerate(answer_id)
        else:
            self._resume(failed)

    def delete(self, message_id: str) -> Callable[[], None]:
        """Take away a message and all that follow it; the result brings them back."""
        session = self._session
        generation = session.generation
        if generation and generation.answer.id in conversation.subtree(session.shown, message_id):
            session.stop()
        before = session.shown
        self._store.delete_message(message_id)
        session.rearrange(conversation.without(before, message_id))
        return lambda: self._restore(before, message_id)

    def move(self, message_id: str, step: int) -> None:
        """Show the branch through the sibling that is `step` places on."""
        chat = self._session.shown
        moved = conversation.beside(chat, message_id, step)
        if moved is not chat:
            self._session.rearrange(moved)

    def can_resume(self, message: Message) -> bool:
        """Whether a message is a cut answer at the end of the shown branch."""
        is_cut = message.status in _CUT and bool(message.text or message.thinking)
        return is_cut and message.id == self._session.shown.leaf_id

    def states(self) -> dict[str, RowState]:
        """Return what can be done to each message of the shown branch, and where it stands."""
        chat = self._session.shown
        places = conversation.places(chat)
        states: dict[str, RowState] = {}
        is_asked = False
        for message in chat.path():
            is_asked = is_asked or message.role is Role.USER
            state = self._state(chat, message, places[message.id])
            states[message.id] = state if is_asked else replace(state, offers=state.offers - _ASKING, fix="")
        return states

    def _state(self, chat: Conversation, message: Message, place: BranchPosition) -> RowState:
        is_answer = message.role is Role.ASSISTANT
        offers = {RowAction.DELETE}
        offers |= {RowAction.COPY} if message.text else set()
        offers |= {RowAction.DETAILS} if is_answer and message.stats else set()
        offers |= {RowAction.PREVIOUS} if place.number > 1 else set()
        offers |= {RowAction.NEXT} if place.number < place.of else set()
        if not self._session.busy:
            offers |= _AGAIN if is_answer else {RowAction.EDIT}
            offers |= {RowAction.RESUME} if self.can_resume(message) else set()
        return RowState(
            place,
            frozenset(offers),
            fix=self.action_for(message) if message.id == chat.leaf_id else "",
            boundary=message.id == chat.settings.reads_from,
        )

    def action_for(self, message: Message) -> str:
        """Return the name of the one thing to do about a message, "" when there is nothing to do."""
        fault = self._session.fault(message)
        kind = fault.kind if fault else None
        if kind is ErrorKind.ENGINE_LOST:
            return tr("Restart")
        if self._is_too_big(message):
            return tr("Load anyway")
        if self._needs_other_model(message):
            return tr("Use {model}").format(model=self._session.loaded_model)
        failed = message.status is MessageStatus.ERROR or bool(message.error)
        cut_off = message.status is MessageStatus.INTERRUPTED and not (message.text or message.thinking)
        return tr("Try again") if (failed and kind not in _HOPELESS) or cut_off else ""

    def _is_too_big(self, message: Message) -> bool:
        """Whether a message failed because its model will not fit into memory."""
        fault = self._session.fault(message)
        return fault is not None and fault.kind is ErrorKind.TOO_BIG

    def _needs_other_model(self, message: Message) -> bool:
        """Whether an answer failed because the model that is set for the chat cannot be loaded."""
        fault = self._session.fault(message)
        return fault is not None and fault.kind in _NO_SUCH_MODEL and bool(self._session.settings.model)

    def last_answer(self) -> Message | None:
        """Return the last answer of the shown branch."""
        return self._last(Role.ASSISTANT)

    def last_question(self) -> Message | None:
        """Return the last question of the shown branch."""
        return self._last(Role.USER)

    def _last(self, role: Role) -> Message | None:
        path = reversed(self._session.shown.path())
        return next((message for message in path if message.role is role), None)

    def _restore(self, before: Conversation, message_id: str) -> None:
        now = self._session.shown
        self._store.restore_message(message_id)
        if now.chat.id == before.chat.id:
            self._session.rearrange(conversation.with_back(now, before))

    # ------------------------------------------------------------ asking

    def _say(
        self, text: str, attachments: Sequence[Attachment], parent_id: str | None, *, alone: bool
    ) -> None:
        """Ask something after a message, or at the beginning; `alone` is as in `send`."""
        session, is_first = self._session, self._session.is_blank
        if is_first:
            session.begin(title_from(text if text.strip() else attachments[0].name))
        question = self._message(Role.USER, text, MessageStatus.DONE, parent_id, tuple(attachments))
        session.add(question)
        if alone:
            session.set_settings(replace(session.settings, reads_from=question.id))
        self._ask(question)
        if is_first:
            self._store.set_draft(UNBEGUN, "")  # what is in the composer belongs to this chat from now on

    def _resume(self, answer: Message) -> None:
        """Have an answer written on, or begun again when nothing is there of it."""
        question = conversation.question_of(self._session.shown, answer.id)
        if question is not None:
            self._ask(question, replace(answer, status=MessageStatus.STREAMING, error=""))

    def _ask(
        self, question: Message, answer: Message | None = None, settings: ChatSettings | None = None
    ) -> None:
        """Have a question answered by a new answer, or by the rest of one; `settings` are for this answer alone."""
        shown = self._session.shown
        if answer is None:
            answer = self._message(Role.ASSISTANT, "", MessageStatus.STREAMING, question.id)
        continues = bool(answer.text or answer.thinking)
        upto = replace(shown, leaf_id=answer.id if continues else question.id)
        request = GenerationRequest(
            prompt_of(upto, continues=continues), settings or shown.settings, continues
        )
        self._session.answer(Generation(next(self._queue.generations), question.id, answer, request))

    def _message(
        self,
        role: Role,
        text: str,
        status: MessageStatus,
        parent_id: str | None,
        attachments: tuple[Attachment, ...] = (),
    ) -> Message:
        chat_id = self._session.chat_id
        return Message(new_id(), chat_id, parent_id, role, text, status, now_ms(), attachments=attachments)
