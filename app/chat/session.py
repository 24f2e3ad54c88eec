"""The one way of a question: onto the disk, then to the engine, its answer kept as it grows."""

from __future__ import annotations

import dataclasses
import time
from itertools import count
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import (
    UNTITLED,
    ChatSummary,
    Conversation,
    Message,
    MessageStatus,
    Role,
    new_id,
    title_from,
)
from app.chat.turn import Outcome, Turn, missing_answer
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from app.chat.answer_line import AnswerLine
    from app.chat.chat_settings import ChatSettings
    from app.services.store import Store
    from mtplx_engine.stats import DecodeStats

# Asking the same again gives the same error.
_HOPELESS = (ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_OVERFLOW)


class ChatSession(QObject):
    """Shows one chat at a time, and takes questions in it.

    A question asked while another chat is being answered, or while the model loads, waits in line: it is saved at
    once, can be stopped at once, and needs nobody to come back for it.

    Signals:
        opened(Conversation): This chat is the shown one now.
        listed(ChatSummary): A chat is new, or was written in.
        added(Message): A message follows in its chat.
        streamed(str, str): Id of an answer, and the text that came.
        changed(Message): An answer ended, begins again, or has figures now.
        waiting(str, str): Id of an answer, and in words what it waits for; "" for nothing to speak of.
        reading(Reading | None): The live figures of the shown chat's answer.
        activity(frozenset[str]): The chats with an answer to come.
        notice(str): A sentence for the person that belongs to no message.
        settings_changed(ChatSettings): The settings of the shown chat are others now.
    """

    opened = Signal(object)
    listed = Signal(object)
    added = Signal(object)
    streamed = Signal(str, str)
    changed = Signal(object)
    waiting = Signal(str, str)
    reading = Signal(object)
    activity = Signal(object)
    notice = Signal(str)
    settings_changed = Signal(object)

    def __init__(self, store: Store, line: AnswerLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._line = line
        self._blank = _empty_chat()  # the one that "new chat" shows, until something is asked in it
        self._shown = self._blank
        self._wanted = ""  # a chat that is being read from the disk
        self._background: dict[str, Conversation] = {}  # chats that are not shown, with an answer to come
        self._generations = count(1)
        self._saved: set[str] = set()
        self._faults: dict[str, ErrorKind] = {}  # of answers that failed since the start
        store.chat_loaded.connect(self._chat_loaded)
        store.committed.connect(self._committed)
        store.failed.connect(self._not_saved)
        line.streamed.connect(self._streamed)
        line.measured.connect(self._measured)
        line.waiting.connect(self._waiting)
        line.ended.connect(self._ended)
        line.figures.connect(self._figures)

    @property
    def shown(self) -> Conversation:
        """The chat that is shown, with what has been written of an answer so far."""
        turn = self._line.turn_in(self._shown.chat.id)
        return self._shown.replace_message(turn.snapshot()) if turn else self._shown

    @property
    def busy(self) -> bool:
        """Whether an answer is to come in the chat that is shown."""
        return self._line.turn_in(self._shown.chat.id) is not None

    # ------------------------------------------------------------ which chat is shown

    def new_chat(self) -> None:
        """Show the empty chat, which is kept once something is asked in it."""
        self._wanted = ""
        self._show(self._blank)

    def open_chat(self, chat_id: str) -> None:
        """Show another chat; `opened` follows when it has been read."""
        if chat_id == self._shown.chat.id:
            self._wanted = ""
        elif chat_id in self._background:
            self._wanted = ""
            self._show(self._background.pop(chat_id))
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)

    def delete_chat(self, chat_id: str) -> None:
        """Take a chat out of the list; an answer to come in it is stopped."""
        turn = self._line.turn_in(chat_id)
        if turn:
            self._line.stop(turn)
        self._store.delete_chats([chat_id])
        if chat_id == self._shown.chat.id:
            self._show(self._blank)

    def restore_chat(self, chat_id: str) -> None:
        """Bring back a chat that was deleted, and show it."""
        self._store.restore_chats([chat_id])
        self.open_chat(chat_id)

    def set_settings(self, settings: ChatSettings) -> None:
        """Set what holds for the next answers of the chat that is shown."""
        if settings != self._shown.settings:
            self._shown = dataclasses.replace(self._shown, settings=settings)
            self.settings_changed.emit(settings)

    # ------------------------------------------------------------ asking

    def send(self, text: str) -> bool:
        """Ask `text` in the chat that is shown; return whether it was taken."""
        if self.busy or self._wanted or not text.strip():
            return False
        if not self._shown.messages:
            chat = dataclasses.replace(self._shown.chat, title=title_from(text))
            self._shown = dataclasses.replace(self._shown, chat=chat)
            self._store.add_chat(chat)
            self._blank = _empty_chat()
        question = self._message(Role.USER, text, MessageStatus.DONE, self._shown.leaf_id)
        self._add(question)
        self._ask(question, self._message(Role.ASSISTANT, "", MessageStatus.STREAMING, question.id))
        return True

    def stop(self) -> None:
        """Stop the answer in the chat that is shown."""
        turn = self._line.turn_in(self._shown.chat.id)
        if turn:
            self._line.stop(turn)

    def retry(self, answer_id: str) -> None:
        """Ask again what a failed answer was to answer; what there is of it stays where it is."""
        path = self._shown.path()
        failed = next((message for message in path if message.id == answer_id), None)
        if self.busy or failed is None:
            return
        question = next(
            message for message in reversed(path[: path.index(failed)]) if message.role is Role.USER
        )
        if self._line.down:
            self._line.restart()
        if question.id not in self._saved:
            self._store.add_message(question)
        if failed.text:
            answer = self._message(Role.ASSISTANT, "", MessageStatus.STREAMING, failed.id)
        else:
            answer = dataclasses.replace(failed, status=MessageStatus.STREAMING, error="")
        self._ask(question, answer)

    def action_for(self, message: Message) -> str:
        """Return the name of the one thing to do about a message, "" when there is nothing to do."""
        fault = self._faults.get(message.id)
        if fault is ErrorKind.ENGINE_LOST:
            return "Restart"
        failed = message.status is MessageStatus.ERROR and fault not in _HOPELESS
        cut_off = message.status is MessageStatus.INTERRUPTED and not message.text
        return "Try again" if failed or cut_off else ""

    def close(self) -> None:
        """Keep what there is of all answers, because the program ends."""
        self._line.interrupt()

    def _ask(self, question: Message, answer: Message) -> None:
        prompt = dataclasses.replace(self._shown, leaf_id=question.id).prompt()
        turn = Turn(next(self._generations), question.id, answer, prompt)
        turn.committed = question.id in self._saved
        if any(message.id == answer.id for message in self._shown.messages):
            self._shown = self._shown.replace_message(answer)
            self._store.finish_answer(answer)
            self.changed.emit(answer)
        else:
            self._add(answer)
        self._line.add(turn)
        self._tell_activity()

    def _add(self, message: Message) -> None:
        self._shown = self._shown.with_message(message)
        chat = dataclasses.replace(self._shown.chat, updated_ms=message.created_ms)
        self._shown = dataclasses.replace(self._shown, chat=chat)
        self._store.add_message(message)
        self.listed.emit(chat)
        self.added.emit(message)

    def _message(self, role: Role, text: str, status: MessageStatus, parent_id: str | None) -> Message:
        return Message(new_id(), self._shown.chat.id, parent_id, role, text, status, _now_ms())

    # ------------------------------------------------------------ what the store tells

    def _chat_loaded(self, conversation: Conversation, damage: str) -> None:
        if conversation.chat.id == self._wanted:
            self._wanted = ""
            self._saved.update(message.id for message in conversation.messages)
            missing = missing_answer(conversation)
            if missing is not None:
                self._store.add_message(missing)
                conversation = conversation.with_message(missing)
            self._show(conversation)
        if damage:
            self.notice.emit(damage)

    def _committed(self, message_id: str) -> None:
        self._saved.add(message_id)
        for turn in self._line.turns:
            if turn.question_id == message_id:
                turn.committed = True
        self._line.advance()

    def _not_saved(self, error: ErrorInfo, message_id: str) -> None:
        for turn in self._line.turns:
            if turn.question_id == message_id and not turn.committed:
                self._line.fail(turn, error)
                return
        if self._wanted and not message_id:
            self._wanted = ""
            self.opened.emit(self.shown)  # the one that could not be read is not
        if message_id not in self._saved:
            self.notice.emit(error.message)

    # ------------------------------------------------------------ what the line tells

    def _streamed(self, turn: Turn, text: str) -> None:
        self.streamed.emit(turn.answer.id, text)
        self._store.answer_progress(turn.answer.id, turn.text)

    def _measured(self, turn: Turn) -> None:
        if turn.chat_id == self._shown.chat.id:
            self.reading.emit(turn.meter.reading())

    def _waiting(self, turn: Turn, words: str) -> None:
        self.waiting.emit(turn.answer.id, words)

    def _ended(self, turn: Turn, outcome: Outcome) -> None:
        self._faults.pop(turn.answer.id, None)
        if outcome.error is not None:
            # Whatever it was: with the engine down, starting it is what helps.
            self._faults[turn.answer.id] = ErrorKind.ENGINE_LOST if self._line.down else outcome.error.kind
        self._keep(turn, outcome)
        self._tell_activity()

    def _figures(self, turn: Turn, stats: DecodeStats) -> None:
        self._keep(turn, Outcome(MessageStatus.STOPPED, stats))

    # ------------------------------------------------------------ inside

    def _show(self, conversation: Conversation) -> None:
        old = self._shown
        if self._line.turn_in(old.chat.id):
            self._background[old.chat.id] = old
        self._shown = conversation
        self.opened.emit(self.shown)
        self._tell_activity()
        self._line.tell_waiting()

    def _keep(self, turn: Turn, outcome: Outcome) -> None:
        """Write how an answer ended, and take it into its chat, wherever that is."""
        message = dataclasses.replace(
            turn.snapshot(),
            status=outcome.status,
            stats=outcome.stats,
            error=outcome.error.message if outcome.error else "",
            model=self._line.model.name if self._line.model else "",
        )
        if message.chat_id == self._shown.chat.id:
            self._shown = self._shown.replace_message(message)
        elif message.chat_id in self._background:
            self._background[message.chat_id] = self._background[message.chat_id].replace_message(message)
        self._store.finish_answer(message)
        self.changed.emit(message)

    def _tell_activity(self) -> None:
        busy = frozenset(turn.chat_id for turn in self._line.turns)
        # A chat whose answer has ended is on the disk, all of it.
        self._background = {key: chat for key, chat in self._background.items() if key in busy}
        self.activity.emit(busy)


def _empty_chat() -> Conversation:
    now_ms = _now_ms()
    return Conversation(ChatSummary(new_id(), UNTITLED, now_ms, now_ms))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
