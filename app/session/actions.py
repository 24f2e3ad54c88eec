"""The user's actions on messages: send, edit, regenerate, continue, retry, delete, switch branches."""

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
# The same request would fail with the same error.
_HOPELESS = (ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_OVERFLOW)
_REGENERATING = {RowAction.REGENERATE, RowAction.FOCUSED, RowAction.VARIED, RowAction.OTHER_MODEL}
_GENERATING = {*_REGENERATING, RowAction.RESUME}  # these need a question
_MAX_TEMPERATURE = 2.0  # above it the text falls apart
_CUT = (MessageStatus.STOPPED, MessageStatus.LENGTH, MessageStatus.INTERRUPTED)


class ChatActions:
    """The actions on the shown chat; each is a change of the conversation, and most start a generation.

    While an answer is pending in the chat, only switching branches and deleting are done. A question is written to the
    disk first, and then sent to the engine.
    """

    def __init__(self, session: ChatSession, store: Store, queue: GenerationQueue) -> None:
        self._session = session
        self._store = store
        self._queue = queue

    def send(self, text: str, attachments: Sequence[Attachment] = (), *, alone: bool = False) -> bool:
        """Send a message with files in the shown chat; return whether it was accepted.

        With `alone` the prompt starts at this message from now on.
        """
        session = self._session
        if session.busy or session.opening or not (text.strip() or attachments):
            return False
        self._add_question(text, attachments, session.shown.leaf_id, alone=alone)
        return True

    def edit(self, message_id: str, text: str, attachments: Sequence[Attachment] = (), *, alone: bool = False) -> bool:
        """Send a new version of a question as its sibling; `alone` and the result are as in `send`."""
        chat = self._session.shown
        old = conversation.find_message(chat, message_id)
        if self._session.busy or not (text.strip() or attachments):
            return False
        if (text, tuple(attachments)) != (old.text, old.attachments):
            self._session.rearrange(conversation.up_to(chat, old.parent_id))
            self._add_question(text, attachments, old.parent_id, alone=alone)
        return True

    def regenerate(self, answer_id: str, settings: ChatSettings | None = None) -> None:
        """Write another answer to the same question as a sibling; `settings` hold for this answer only."""
        chat = self._session.shown
        question = conversation.question_of(chat, answer_id)
        if question is not None and not self._session.busy:
            self._session.rearrange(conversation.up_to(chat, question.id))
            self._generate(question, settings=settings)

    def vary(self, answer_id: str, factor: float) -> None:
        """Regenerate with the temperature multiplied by `factor`, and with another seed."""
        settings, sampler = self._session.settings, self._session.sampler
        temperature = min(sampler.temperature * factor, _MAX_TEMPERATURE)
        varied = replace(sampler, temperature=round(temperature, 3), seed=None)
        self.regenerate(answer_id, replace(settings, sampler=varied))

    def resume(self, answer_id: str) -> None:
        answer = conversation.find_message(self._session.shown, answer_id)
        if not self._session.busy and self.can_resume(answer):
            self._resume(answer)

    def retry(self, answer_id: str) -> None:
        """Generate a failed answer again; its partial text stays as a branch.

        Where the model set for the chat was the cause, the chat uses the loaded one from now on.
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
        """Delete a message and its descendants; return what restores them."""
        session = self._session
        generation = session.generation
        if generation and generation.answer.id in conversation.subtree(session.shown, message_id):
            session.stop()
        before = session.shown
        self._store.delete_message(message_id)
        session.rearrange(conversation.without(before, message_id))
        return lambda: self._restore(before, message_id)

    def move(self, message_id: str, step: int) -> None:
        """Show the branch of the sibling `step` positions on."""
        chat = self._session.shown
        moved = conversation.show_sibling(chat, message_id, step)
        if moved is not chat:
            self._session.rearrange(moved)

    def can_resume(self, message: Message) -> bool:
        is_cut = message.status in _CUT and bool(message.text or message.thinking)
        return is_cut and message.id == self._session.shown.leaf_id

    def states(self) -> dict[str, RowState]:
        """Return the row state of each message of the shown branch."""
        chat = self._session.shown
        places = conversation.branch_positions(chat)
        states: dict[str, RowState] = {}
        has_question = False
        for message in chat.path():
            has_question = has_question or message.role is Role.USER
            state = self._state(chat, message, places[message.id])
            states[message.id] = state if has_question else replace(state, offers=state.offers - _GENERATING, fix="")
        return states

    def _state(self, chat: Conversation, message: Message, place: BranchPosition) -> RowState:
        is_answer = message.role is Role.ASSISTANT
        offers = {RowAction.DELETE}
        offers |= {RowAction.COPY} if message.text else set()
        offers |= {RowAction.DETAILS} if is_answer and message.stats else set()
        offers |= {RowAction.PREVIOUS} if place.number > 1 else set()
        offers |= {RowAction.NEXT} if place.number < place.of else set()
        if not self._session.busy:
            offers |= _REGENERATING if is_answer else {RowAction.EDIT}
            offers |= {RowAction.RESUME} if self.can_resume(message) else set()
        return RowState(
            place,
            frozenset(offers),
            fix=self.action_for(message) if message.id == chat.leaf_id else "",
            boundary=message.id == chat.settings.reads_from,
        )

    def action_for(self, message: Message) -> str:
        """Return the title of the button that mends a message's error, "" for none."""
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
        fault = self._session.fault(message)
        return fault is not None and fault.kind is ErrorKind.TOO_BIG

    def _needs_other_model(self, message: Message) -> bool:
        fault = self._session.fault(message)
        return fault is not None and fault.kind in _NO_SUCH_MODEL and bool(self._session.settings.model)

    def last_answer(self) -> Message | None:
        return self._last(Role.ASSISTANT)

    def last_question(self) -> Message | None:
        return self._last(Role.USER)

    def _last(self, role: Role) -> Message | None:
        path = reversed(self._session.shown.path())
        return next((message for message in path if message.role is role), None)

    def _restore(self, before: Conversation, message_id: str) -> None:
        now = self._session.shown
        self._store.restore_message(message_id)
        if now.chat.id == before.chat.id:
            self._session.rearrange(conversation.with_restored(now, before))

    # ------------------------------------------------------------ generating

    def _add_question(
        self, text: str, attachments: Sequence[Attachment], parent_id: str | None, *, alone: bool
    ) -> None:
        """Add a question after a message, or as the first one, and generate its answer; `alone` is as in `send`."""
        session, is_first = self._session, self._session.is_blank
        if is_first:
            session.begin(title_from(text if text.strip() else attachments[0].name))
        question = self._message(Role.USER, text, MessageStatus.DONE, parent_id, tuple(attachments))
        session.add(question)
        if alone:
            session.set_settings(replace(session.settings, reads_from=question.id))
        self._generate(question)
        if is_first:
            self._store.set_draft(UNBEGUN, "")  # the composer's text belongs to this chat from now on

    def _resume(self, answer: Message) -> None:
        question = conversation.question_of(self._session.shown, answer.id)
        if question is not None:
            self._generate(question, replace(answer, status=MessageStatus.STREAMING, error=""))

    def _generate(self, question: Message, answer: Message | None = None, settings: ChatSettings | None = None) -> None:
        """Generate a new answer to a question, or the rest of one; `settings` hold for this answer only."""
        shown = self._session.shown
        if answer is None:
            answer = self._message(Role.ASSISTANT, "", MessageStatus.STREAMING, question.id)
        continues = bool(answer.text or answer.thinking)
        upto = replace(shown, leaf_id=answer.id if continues else question.id)
        request = GenerationRequest(prompt_of(upto, continues=continues), settings or shown.settings, continues)
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
