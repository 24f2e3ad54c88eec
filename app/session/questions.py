"""Questions and answers on their way into the chat that is shown, onto the disk, and into the engine's line."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from app.chat import branches
from app.chat.chat_settings import ChatSettings
from app.chat.conversation import Message, MessageStatus, Role, new_id, title_from
from app.chat.prompting import prompt_of
from app.chat.turn import Ask, Turn
from app.services.chat_database import UNBEGUN
from app.session.desk import now_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.conversation import Attachment
    from app.services.store import Store
    from app.session.answer_line import AnswerLine
    from app.session.desk import Desk
    from app.session.session import ChatSession


class Questions:
    """Asks in the chat that is shown; the session sends the signals.

    Attributes:
        unsaved: The messages of this run that are not on the disk yet.
    """

    def __init__(self, session: ChatSession, desk: Desk, store: Store, line: AnswerLine) -> None:
        self.unsaved: set[str] = set()
        self._session = session
        self._desk = desk
        self._store = store
        self._line = line

    def say(
        self,
        text: str,
        attachments: Sequence[Attachment],
        parent_id: str | None,
        *,
        alone: bool = False,
    ) -> None:
        """Ask something after a message, or at the beginning; `alone` is as in `send`."""
        shown, is_first = self._desk.shown, self._desk.is_blank
        if is_first:
            self._desk.begin(title_from(text if text.strip() else attachments[0].name))
            self._store.add_chat(self._desk.shown.chat)
            if shown.settings != ChatSettings():
                self._store.set_settings(shown.chat.id, shown.settings)
        question = self._message(Role.USER, text, MessageStatus.DONE, parent_id, tuple(attachments))
        self._add(question)
        if alone:
            self._session.set_settings(dataclasses.replace(self._desk.shown.settings, reads_from=question.id))
        self.answer(question)
        if is_first:
            self._store.set_draft(UNBEGUN, "")  # what is in the composer belongs to this chat from now on

    def answer(self, question: Message, settings: ChatSettings | None = None) -> None:
        """Have a question of the shown chat answered, once more if it was; `settings` are for this answer alone."""
        self._ask(question, self._message(Role.ASSISTANT, "", MessageStatus.STREAMING, question.id), settings)

    def resume(self, answer: Message) -> None:
        """Have an answer of the shown chat written on, or begun again when nothing is there of it."""
        question = branches.question_of(self._desk.shown, answer.id)
        continues = bool(answer.text or answer.thinking)
        if question is None:
            return
        self._ask(
            question,
            dataclasses.replace(answer, status=MessageStatus.STREAMING, error=""),
            continues=continues,
        )

    def revive(self, question: Message, *, anyway: bool = False) -> None:
        """Do what a question may lack to be asked again: an engine that runs, and a place on the disk.

        Args:
            question: Of the shown chat.
            anyway: Whether its model is to be loaded even when it will not fit into memory.
        """
        if anyway:
            self._line.load_anyway(self._desk.shown.settings.model)
        elif self._line.down:
            self._line.restart()
        if question.id in self.unsaved:
            self._store.add_message(question)

    def _ask(
        self,
        question: Message,
        answer: Message,
        settings: ChatSettings | None = None,
        *,
        continues: bool = False,
    ) -> None:
        shown = self._desk.shown
        upto = dataclasses.replace(shown, leaf_id=answer.id if continues else question.id)
        ask = Ask(prompt_of(upto, continues=continues), settings or shown.settings, continues)
        turn = Turn(next(self._line.generations), question.id, answer, ask)
        turn.committed = question.id not in self.unsaved
        if any(message.id == answer.id for message in shown.messages):
            self._desk.put_message(answer)
            self._store.finish_answer(answer)
            self._session.changed.emit(answer)
        else:
            self._add(answer)
        self._line.add(turn)
        self._session.tell_activity()

    def _add(self, message: Message) -> None:
        shown = self._desk.shown.with_message(message)
        chat = dataclasses.replace(shown.chat, updated_ms=message.created_ms)
        self._desk.put(dataclasses.replace(shown, chat=chat))
        self.unsaved.add(message.id)
        self._store.add_message(message)
        self._session.listed.emit(chat)
        self._session.added.emit(message)

    def _message(
        self,
        role: Role,
        text: str,
        status: MessageStatus,
        parent_id: str | None,
        attachments: tuple[Attachment, ...] = (),
    ) -> Message:
        chat_id = self._desk.shown.chat.id
        return Message(new_id(), chat_id, parent_id, role, text, status, now_ms(), attachments=attachments)
