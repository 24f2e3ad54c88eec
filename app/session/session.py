"""The shown chat and the open chats: applies messages, answers and store events to them."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import UNTITLED, ChatSummary, Conversation, Message, MessageStatus, new_id
from app.chat.generation import Generation, Outcome, missing_answer
from app.chat.settings import ChatSettings
from app.storage.database import UNBEGUN
from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from app.session.queue import GenerationQueue
    from app.storage.store import Store
    from mtplx_engine.stats import DecodeStats


class ChatSession(QObject):
    """The shown chat, and the chats in memory whose answers are pending; `ChatActions` changes it.

    A question asked while another chat is being answered, or while the model loads, waits in the queue: it is saved at
    once and can be stopped at once.

    Signals:
        opened(Conversation): Another chat is shown.
        rearranged(Conversation): Another branch of the shown chat is shown.
        listed(ChatSummary): A chat is new, or was written in.
        added(Message): A message was added to the shown chat.
        changed(Message): An answer ended, begins again, or has statistics now.
        waiting(str, str): Id of an answer, and what it waits for as text; "" for nothing.
        reading(Reading | None, DepthChosen | None): Live metrics of the shown chat's answer, and its draft depth.
        activity(frozenset[str]): The chats with a pending answer.
        notice(str): A sentence for the user that belongs to no message.
        settings_changed(ChatSettings): The settings of the shown chat have changed.
    """

    opened = Signal(object)
    rearranged = Signal(object)
    listed = Signal(object)
    added = Signal(object)
    changed = Signal(object)
    waiting = Signal(str, str)
    reading = Signal(object, object)
    activity = Signal(object)
    notice = Signal(str)
    settings_changed = Signal(object)

    def __init__(self, store: Store, queue: GenerationQueue, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._queue = queue
        self.streamed = queue.streamed
        self._chats = OpenChats()
        self._uncommitted: set[str] = set()  # messages of this run not on the disk yet
        self._wanted = ""  # a chat that is being read from the disk
        self._settled = 0  # number of changes that no longer wait for the disk
        self._faults: dict[str, ErrorInfo] = {}  # of answers that failed since the start
        self._refused: set[str] = set()  # messages whose write failed so far
        store.chat_loaded.connect(self._chat_loaded)
        store.committed.connect(self._committed)
        store.settled.connect(self._changes_settled)
        store.failed.connect(self._write_failed)
        queue.streamed.connect(self._store_progress)
        queue.measured.connect(self._measured)
        queue.waiting.connect(self._waiting)
        queue.ended.connect(self._ended)
        queue.late_stats.connect(self._add_late_stats)

    @property
    def shown(self) -> Conversation:
        """The shown chat, with the text so far of a pending answer."""
        return self._with_pending_answer(self._chats.shown)

    @property
    def unsaved(self) -> tuple[Conversation, ...]:
        """The chats with changes that may not be on the disk, with pending answers so far."""
        if self._settled >= self._store.changes:
            return ()
        return tuple(self._with_pending_answer(conversation) for conversation in self._chats.begun())

    @property
    def refused(self) -> tuple[Conversation, ...]:
        """The chats with a message whose write failed so far, with pending answers so far."""
        chats, lost = self._chats.begun(), self._refused
        return tuple(
            self._with_pending_answer(each) for each in chats if any(said.id in lost for said in each.messages)
        )

    @property
    def chat_id(self) -> str:
        return self._chats.shown.chat.id

    @property
    def settings(self) -> ChatSettings:
        return self._chats.shown.settings

    @property
    def loaded_model(self) -> str:
        """The name of the loaded model; "" before the first."""
        return self._queue.model.name if self._queue.model else ""

    @property
    def largest_window(self) -> int:
        """Context window of the model in tokens; 0 without a model."""
        return self._queue.model.context_window if self._queue.model else 0

    @property
    def sampler(self) -> SamplerConfig:
        """The sampling settings of the next answer in the shown chat."""
        model = self._queue.model
        return self.settings.sampler or (model.recommended if model else SamplerConfig())

    @property
    def generation(self) -> Generation | None:
        return self._queue.pending_in(self._chats.shown.chat.id)

    @property
    def busy(self) -> bool:
        """Whether an answer is pending in the shown chat."""
        return self.generation is not None

    @property
    def is_blank(self) -> bool:
        """Whether the shown chat is the new one without messages, which is not stored yet."""
        return self._chats.is_blank

    @property
    def opening(self) -> bool:
        """Whether another chat is being read from the disk to be shown."""
        return bool(self._wanted)

    def at_hand(self, chat_id: str) -> Conversation | None:
        """Return a chat from memory, which may be newer than on the disk; None when it is not in memory."""
        conversation = self._chats.at_hand(chat_id)
        return None if conversation is None else self._with_pending_answer(conversation)

    # ------------------------------------------------------------ chats

    def new_chat(self) -> None:
        """Show the new chat, which is stored with its first message."""
        self._wanted = ""
        self._show(self._chats.blank)

    def open_chat(self, chat_id: str) -> None:
        """Show another chat; `opened` follows when it is loaded."""
        at_hand = None if chat_id == self._chats.shown.chat.id else self._chats.take(chat_id)
        if at_hand is not None or chat_id == self._chats.shown.chat.id:
            self._wanted = ""
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)
        if at_hand is not None:
            self._show(at_hand)

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Delete chats; their pending answers are stopped."""
        for chat_id in chat_ids:
            generation = self._queue.pending_in(chat_id)
            if generation:
                self._queue.stop(generation)
        self._chats.deleted.update(chat_ids)
        self._store.delete_chats(chat_ids)
        if self._chats.shown.chat.id in chat_ids:
            self._show(self._chats.blank)

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        self._chats.deleted.difference_update(chat_ids)
        self._store.restore_chats(chat_ids)

    def take_chat(self, chat: ChatSummary) -> None:
        """Take over a changed title or pin, which is stored elsewhere."""
        self._chats.put_chat(chat)
        self.listed.emit(chat)

    def set_draft(self, chat_id: str, text: str) -> None:
        """Store the unsent text of a chat."""
        self._store.set_draft(UNBEGUN if chat_id == self._chats.blank.chat.id else chat_id, text)

    def set_settings(self, settings: ChatSettings) -> None:
        shown = self._chats.shown
        if settings == shown.settings:
            return
        self._chats.put(dataclasses.replace(shown, settings=settings))
        if not self._chats.is_blank:
            self._store.set_settings(shown.chat.id, settings)
        self.settings_changed.emit(settings)
        if settings.reads_from != shown.settings.reads_from:
            self.rearranged.emit(self.shown)

    def set_settings_of(self, chat_id: str, settings: ChatSettings) -> None:
        """Change the settings of any chat, shown or not, even deleted."""
        if chat_id == self.chat_id:
            self.set_settings(settings)
            return
        self._chats.put_settings(chat_id, settings)
        if chat_id != self._chats.blank.chat.id:
            self._store.set_settings(chat_id, settings)

    def rearrange(self, conversation: Conversation) -> None:
        """Replace the shown chat by itself with another branch shown, or without some messages."""
        self._chats.put(conversation)
        if conversation.leaf_id is not None:
            self._store.set_leaf(conversation.chat.id, conversation.leaf_id)
        self.rearranged.emit(self.shown)

    # ------------------------------------------------------------ messages and answers

    def begin(self, title: str) -> None:
        """Store the shown new chat under a title; another new chat takes its place."""
        settings = self.settings
        self._chats.begin(title)
        self._store.add_chat(self._chats.shown.chat)
        if settings != ChatSettings():
            self._store.set_settings(self.chat_id, settings)

    def add(self, message: Message) -> None:
        """Append a message to the shown branch and store it."""
        shown = self._chats.shown.with_message(message)
        chat = dataclasses.replace(shown.chat, updated_ms=message.created_ms)
        self._chats.put(dataclasses.replace(shown, chat=chat))
        self._uncommitted.add(message.id)
        self._store.add_message(message)
        self.listed.emit(chat)
        self.added.emit(message)

    def save_again(self, message: Message) -> None:
        if message.id in self._uncommitted:
            self._store.add_message(message)

    def answer(self, generation: Generation) -> None:
        """Queue the generation of an answer of the shown chat, a new or an existing one."""
        generation.committed = generation.question_id not in self._uncommitted
        answer = generation.answer
        if any(message.id == answer.id for message in self._chats.shown.messages):
            self._chats.put_message(answer)
            self._store.finish_answer(answer)
            self.changed.emit(answer)
        else:
            self.add(answer)
        self._queue.add(generation)
        self._emit_activity()

    def stop(self) -> None:
        if self.generation:
            self._queue.stop(self.generation)

    def fault(self, message: Message) -> ErrorInfo | None:
        """Return the error of an answer that failed in this run."""
        return self._faults.get(message.id)

    def close(self) -> None:
        """End all generations and store their text so far, because the program ends."""
        self._queue.interrupt()

    # ------------------------------------------------------------ signals of the store

    def _chat_loaded(self, conversation: Conversation, damage: str) -> None:
        if conversation.chat.id == self._wanted:
            self._wanted = ""
            missing = missing_answer(conversation)
            if missing is not None:
                self._uncommitted.add(missing.id)
                self._store.add_message(missing)
                conversation = conversation.with_message(missing)
            self._show(conversation)
        if damage:
            self.notice.emit(damage)

    def _committed(self, message_id: str) -> None:
        self._uncommitted.discard(message_id)
        self._refused.discard(message_id)
        for generation in self._queue.pending:
            if generation.question_id == message_id:
                generation.committed = True
        self._queue.advance()

    def _changes_settled(self, changes: int) -> None:
        self._settled = changes
        self._chats.let_go(self._busy_chats(), changes)

    def _write_failed(self, error: ErrorInfo, message_id: str) -> None:
        if message_id:
            self._refused.add(message_id)
        for generation in self._queue.pending:
            if generation.question_id == message_id and not generation.committed:
                self._queue.fail(generation, error)
                return
        if self._wanted and not message_id:
            self._wanted = ""
            self.opened.emit(self.shown)  # in place of the unreadable one
        self.notice.emit(error.message)

    # ------------------------------------------------------------ signals of the queue

    def _store_progress(self, generation: Generation) -> None:
        self._store.answer_progress(generation.answer.id, generation.text, generation.thinking)

    def _measured(self, generation: Generation) -> None:
        if generation.chat_id == self._chats.shown.chat.id:
            self.reading.emit(generation.meter.reading(), generation.depth)

    def _waiting(self, generation: Generation, words: str) -> None:
        self.waiting.emit(generation.answer.id, words)

    def _ended(self, generation: Generation, outcome: Outcome) -> None:
        self._faults.pop(generation.answer.id, None)
        if outcome.error is not None:
            # With the engine down, a restart helps, unless the model would be refused again.
            keeps_kind = not self._queue.down or outcome.error.kind is ErrorKind.TOO_BIG
            kind = outcome.error.kind if keeps_kind else ErrorKind.ENGINE_LOST
            self._faults[generation.answer.id] = dataclasses.replace(outcome.error, kind=kind)
        self._store_outcome(generation, outcome)
        self._emit_activity()

    def _add_late_stats(self, generation: Generation, stats: DecodeStats) -> None:
        """Take the statistics of a stopped answer, whose continuation may have started already."""
        newer = self._queue.pending_in(generation.chat_id)
        if newer is not None and newer.answer.id == generation.answer.id:
            newer.follow(generation, stats)
        else:
            self._store_outcome(generation, Outcome(MessageStatus.STOPPED, stats))

    # ------------------------------------------------------------ private

    def _show(self, conversation: Conversation) -> None:
        self._chats.show(conversation, self._store.changes)
        self.opened.emit(self.shown)
        self._emit_activity()
        self._queue.tell_waiting()

    def _store_outcome(self, generation: Generation, outcome: Outcome) -> None:
        """Store the final answer, and update it in its chat."""
        message = generation.outcome(outcome, self.loaded_model)
        self._chats.put_message(message)
        self._store.finish_answer(message)
        self._chats.note_changes(generation.chat_id, self._store.changes)
        self.changed.emit(message)

    def _emit_activity(self) -> None:
        busy = self._busy_chats()
        self._chats.let_go(busy, self._settled)
        self.activity.emit(busy)

    def _busy_chats(self) -> frozenset[str]:
        return frozenset(generation.chat_id for generation in self._queue.pending)

    def _with_pending_answer(self, conversation: Conversation) -> Conversation:
        generation = self._queue.pending_in(conversation.chat.id)
        return conversation.replace_message(generation.snapshot()) if generation else conversation


class OpenChats:
    """The chats in memory: the shown and the new one, those with a pending answer or with changes not on the disk."""

    def __init__(self) -> None:
        self.blank = _empty_chat()
        self.shown = self.blank
        self.deleted: set[str] = set()
        self._background: dict[str, Conversation] = {}
        self._changes: dict[str, int] = {}  # the last change that may concern a background chat

    @property
    def is_blank(self) -> bool:
        return self.shown.chat.id == self.blank.chat.id

    def begin(self, title: str) -> None:
        """Give the shown new chat a title; another new chat takes its place."""
        self.put(dataclasses.replace(self.shown, chat=dataclasses.replace(self.shown.chat, title=title)))
        self.blank = _empty_chat()

    def show(self, conversation: Conversation, changes: int) -> None:
        """Show another chat; the former one stays in memory until its `changes` are stored, see `let_go`."""
        if not self.is_blank:
            self._background[self.shown.chat.id] = self.shown
            self.note_changes(self.shown.chat.id, changes)
        self.shown = conversation

    def note_changes(self, chat_id: str, changes: int) -> None:
        """Note how many changes must be on the disk before a chat may leave the memory."""
        self._changes[chat_id] = changes

    def at_hand(self, chat_id: str) -> Conversation | None:
        return self.shown if chat_id == self.shown.chat.id else self._background.get(chat_id)

    def begun(self) -> tuple[Conversation, ...]:
        """Return the chats in memory that have messages and are not deleted."""
        chats = (self.shown, *self._background.values())
        return tuple(each for each in chats if each.messages and each.chat.id not in self.deleted)

    def take(self, chat_id: str) -> Conversation | None:
        """Remove a background chat and return it."""
        return self._background.pop(chat_id, None)

    def put(self, conversation: Conversation) -> None:
        """Replace a chat by its newer version, if it is in memory."""
        chat_id = conversation.chat.id
        if chat_id == self.blank.chat.id:
            self.blank = conversation
        if chat_id == self.shown.chat.id:
            self.shown = conversation
        elif chat_id in self._background:
            self._background[chat_id] = conversation

    def put_chat(self, chat: ChatSummary) -> None:
        """Replace title and times of a chat, if it is in memory."""
        at_hand = self.at_hand(chat.id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, chat=chat))

    def put_settings(self, chat_id: str, settings: ChatSettings) -> None:
        """Replace the settings of a chat that is not shown, if it is in memory."""
        at_hand = self.blank if chat_id == self.blank.chat.id else self._background.get(chat_id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, settings=settings))

    def put_message(self, message: Message) -> None:
        """Replace a message by its newer version; a deleted one stays deleted."""
        chats = (self.shown, self._background.get(message.chat_id))
        for chat in chats:
            if chat is not None and any(each.id == message.id for each in chat.messages):
                self.put(chat.replace_message(message))

    def let_go(self, busy: Container[str], settled: int) -> None:
        """Drop the background chats that are not `busy` and whose changes are among the first `settled`."""
        self._background = {
            key: chat for key, chat in self._background.items() if key in busy or self._changes[key] > settled
        }
        self._changes = {key: self._changes[key] for key in self._background}


def now_ms() -> int:
    """Return the wall clock in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


def _empty_chat() -> Conversation:
    now = now_ms()
    return Conversation(ChatSummary(new_id(), UNTITLED, now, now))
