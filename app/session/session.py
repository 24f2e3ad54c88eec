"""The shown chat and the open chats: from a question to a stored answer."""

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
    """Shows one chat at a time, and follows the answers that are written in all of them; `ChatActions` changes it.

    A question asked while another chat is being answered, or while the model loads, waits in line: it is saved at
    once, can be stopped at once, and needs nobody to come back for it.

    Attributes:
        streamed: The queue's signal: text or thinking of an answer came.

    Signals:
        opened(Conversation): This chat is the shown one now.
        rearranged(Conversation): Another branch of the shown chat is shown now.
        listed(ChatSummary): A chat is new, or was written in.
        added(Message): A message follows in its chat.
        changed(Message): An answer ended, begins again, or has figures now.
        waiting(str, str): Id of an answer, and in words what it waits for; "" for nothing to speak of.
        reading(Reading | None, DepthChosen | None): The live figures of the shown chat's answer, and its draft depth.
        activity(frozenset[str]): The chats with an answer to come.
        notice(str): A sentence for the user that belongs to no message.
        settings_changed(ChatSettings): The settings of the shown chat are others now.
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
        self._uncommitted: set[str] = set()  # messages of this run that are not on the disk yet
        self._wanted = ""  # a chat that is being read from the disk
        self._settled = 0  # changes that wait for the disk no longer
        self._faults: dict[str, ErrorInfo] = {}  # of answers that failed since the start
        self._refused: set[str] = set()  # messages that could not be saved so far
        store.chat_loaded.connect(self._chat_loaded)
        store.committed.connect(self._committed)
        store.settled.connect(self._note_settled)
        store.failed.connect(self._not_saved)
        queue.streamed.connect(self._keep_progress)
        queue.measured.connect(self._measured)
        queue.waiting.connect(self._waiting)
        queue.ended.connect(self._ended)
        queue.figures.connect(self._figures)

    @property
    def shown(self) -> Conversation:
        """The chat that is shown, with what has been written of an answer so far."""
        return self._as_it_is(self._chats.shown)

    @property
    def unsaved(self) -> tuple[Conversation, ...]:
        """The chats of which something may not be on the disk, with what has been written of answers so far."""
        if self._settled >= self._store.changes:
            return ()
        return tuple(self._as_it_is(conversation) for conversation in self._chats.begun())

    @property
    def refused(self) -> tuple[Conversation, ...]:
        """The chats of which something could not be saved so far, with what has been written of answers."""
        chats, lost = self._chats.begun(), self._refused
        return tuple(self._as_it_is(each) for each in chats if any(said.id in lost for said in each.messages))

    @property
    def chat_id(self) -> str:
        """The id of the chat that is shown."""
        return self._chats.shown.chat.id

    @property
    def settings(self) -> ChatSettings:
        """What is set for the chat that is shown."""
        return self._chats.shown.settings

    @property
    def loaded_model(self) -> str:
        """The name of the model that is loaded; "" before the first."""
        return self._queue.model.name if self._queue.model else ""

    @property
    def largest_window(self) -> int:
        """How many tokens the model's context window can hold; 0 without a model."""
        return self._queue.model.context_window if self._queue.model else 0

    @property
    def sampler(self) -> SamplerConfig:
        """How the tokens of the next answer are chosen in the chat that is shown."""
        model = self._queue.model
        return self.settings.sampler or (model.recommended if model else SamplerConfig())

    @property
    def generation(self) -> Generation | None:
        """The answer to come in the chat that is shown."""
        return self._queue.pending_in(self._chats.shown.chat.id)

    @property
    def busy(self) -> bool:
        """Whether an answer is to come in the chat that is shown."""
        return self.generation is not None

    @property
    def is_blank(self) -> bool:
        """Whether the empty chat is shown, which is kept once something is asked in it."""
        return self._chats.is_blank

    @property
    def opening(self) -> bool:
        """Whether another chat is being read from the disk, to be shown."""
        return bool(self._wanted)

    def at_hand(self, chat_id: str) -> Conversation | None:
        """Return a chat as it is in memory, which may be newer than on the disk; None when it is on the disk only."""
        conversation = self._chats.at_hand(chat_id)
        return None if conversation is None else self._as_it_is(conversation)

    # ------------------------------------------------------------ which chat is shown

    def new_chat(self) -> None:
        """Show the empty chat, which is kept once something is asked in it."""
        self._wanted = ""
        self._show(self._chats.blank)

    def open_chat(self, chat_id: str) -> None:
        """Show another chat; `opened` follows when it has been read."""
        at_hand = None if chat_id == self._chats.shown.chat.id else self._chats.take(chat_id)
        if at_hand is not None or chat_id == self._chats.shown.chat.id:
            self._wanted = ""
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)
        if at_hand is not None:
            self._show(at_hand)

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Take chats out of the list; answers to come in them are stopped."""
        for chat_id in chat_ids:
            generation = self._queue.pending_in(chat_id)
            if generation:
                self._queue.stop(generation)
        self._chats.deleted.update(chat_ids)
        self._store.delete_chats(chat_ids)
        if self._chats.shown.chat.id in chat_ids:
            self._show(self._chats.blank)

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        """Bring back chats that were deleted."""
        self._chats.deleted.difference_update(chat_ids)
        self._store.restore_chats(chat_ids)

    def take_chat(self, chat: ChatSummary) -> None:
        """Take the new title or pin of a chat, which is saved elsewhere."""
        self._chats.put_chat(chat)
        self.listed.emit(chat)

    def set_draft(self, chat_id: str, text: str) -> None:
        """Keep what is typed in a chat and not sent."""
        self._store.set_draft(UNBEGUN if chat_id == self._chats.blank.chat.id else chat_id, text)

    def set_settings(self, settings: ChatSettings) -> None:
        """Set what holds for the next answers of the chat that is shown."""
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
        """Set what holds for the next answers of a chat, whether it is shown or not, or even deleted."""
        if chat_id == self.chat_id:
            self.set_settings(settings)
            return
        self._chats.put_settings(chat_id, settings)
        if chat_id != self._chats.blank.chat.id:
            self._store.set_settings(chat_id, settings)

    def rearrange(self, conversation: Conversation) -> None:
        """Show the chat that is shown with another branch, or without some messages."""
        self._chats.put(conversation)
        if conversation.leaf_id is not None:
            self._store.set_leaf(conversation.chat.id, conversation.leaf_id)
        self.rearranged.emit(self.shown)

    # ------------------------------------------------------------ messages and answers

    def begin(self, title: str) -> None:
        """Keep the empty chat that is shown, with a title; there is another empty one from now on."""
        settings = self.settings
        self._chats.begin(title)
        self._store.add_chat(self._chats.shown.chat)
        if settings != ChatSettings():
            self._store.set_settings(self.chat_id, settings)

    def add(self, message: Message) -> None:
        """Keep a new message of the chat that is shown, where its branch ends."""
        shown = self._chats.shown.with_message(message)
        chat = dataclasses.replace(shown.chat, updated_ms=message.created_ms)
        self._chats.put(dataclasses.replace(shown, chat=chat))
        self._uncommitted.add(message.id)
        self._store.add_message(message)
        self.listed.emit(chat)
        self.added.emit(message)

    def save_again(self, message: Message) -> None:
        """Keep a message that is not on the disk, as after a failure."""
        if message.id in self._uncommitted:
            self._store.add_message(message)

    def answer(self, generation: Generation) -> None:
        """Have an answer of the chat that is shown written, a new one or one that is there, once it is its turn."""
        generation.committed = generation.question_id not in self._uncommitted
        answer = generation.answer
        if any(message.id == answer.id for message in self._chats.shown.messages):
            self._chats.put_message(answer)
            self._store.finish_answer(answer)
            self.changed.emit(answer)
        else:
            self.add(answer)
        self._queue.add(generation)
        self._tell_activity()

    def stop(self) -> None:
        """Stop the answer in the chat that is shown."""
        if self.generation:
            self._queue.stop(self.generation)

    def fault(self, message: Message) -> ErrorInfo | None:
        """Return why an answer failed, if that was since the start."""
        return self._faults.get(message.id)

    def close(self) -> None:
        """Keep what there is of all answers, because the program ends."""
        self._queue.interrupt()

    # ------------------------------------------------------------ what the store tells

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

    def _note_settled(self, changes: int) -> None:
        self._settled = changes
        self._chats.let_go(self._busy_chats(), changes)

    def _not_saved(self, error: ErrorInfo, message_id: str) -> None:
        if message_id:
            self._refused.add(message_id)
        for generation in self._queue.pending:
            if generation.question_id == message_id and not generation.committed:
                self._queue.fail(generation, error)
                return
        if self._wanted and not message_id:
            self._wanted = ""
            self.opened.emit(self.shown)  # the one that could not be read is not
        self.notice.emit(error.message)

    # ------------------------------------------------------------ what the line tells

    def _keep_progress(self, generation: Generation) -> None:
        self._store.answer_progress(generation.answer.id, generation.text, generation.thinking)

    def _measured(self, generation: Generation) -> None:
        if generation.chat_id == self._chats.shown.chat.id:
            self.reading.emit(generation.meter.reading(), generation.depth)

    def _waiting(self, generation: Generation, words: str) -> None:
        self.waiting.emit(generation.answer.id, words)

    def _ended(self, generation: Generation, outcome: Outcome) -> None:
        self._faults.pop(generation.answer.id, None)
        if outcome.error is not None:
            # With the engine down, starting it is what helps, unless it would be refused again.
            keeps_kind = not self._queue.down or outcome.error.kind is ErrorKind.TOO_BIG
            kind = outcome.error.kind if keeps_kind else ErrorKind.ENGINE_LOST
            self._faults[generation.answer.id] = dataclasses.replace(outcome.error, kind=kind)
        self._keep(generation, outcome)
        self._tell_activity()

    def _figures(self, generation: Generation, stats: DecodeStats) -> None:
        """Take the figures of a stopped answer, which may be written on already."""
        newer = self._queue.pending_in(generation.chat_id)
        if newer is not None and newer.answer.id == generation.answer.id:
            newer.follow(generation, stats)
        else:
            self._keep(generation, Outcome(MessageStatus.STOPPED, stats))

    # ------------------------------------------------------------ inside

    def _show(self, conversation: Conversation) -> None:
        self._chats.show(conversation, self._store.changes)
        self.opened.emit(self.shown)
        self._tell_activity()
        self._queue.tell_waiting()

    def _keep(self, generation: Generation, outcome: Outcome) -> None:
        """Write how an answer ended, and take it into its chat, wherever that is."""
        message = generation.outcome(outcome, self.loaded_model)
        self._chats.put_message(message)
        self._store.finish_answer(message)
        self._chats.note_changes(generation.chat_id, self._store.changes)
        self.changed.emit(message)

    def _tell_activity(self) -> None:
        """Say in which chats an answer is to come."""
        busy = self._busy_chats()
        self._chats.let_go(busy, self._settled)
        self.activity.emit(busy)

    def _busy_chats(self) -> frozenset[str]:
        return frozenset(generation.chat_id for generation in self._queue.pending)

    def _as_it_is(self, conversation: Conversation) -> Conversation:
        generation = self._queue.pending_in(conversation.chat.id)
        return conversation.replace_message(generation.snapshot()) if generation else conversation


class OpenChats:
    """The chats in memory: shown, empty, with an answer to come, or with something that is not on the disk.

    Attributes:
        blank: The chat that "new chat" shows, until something is asked in it.
        shown: The chat that is shown.
        deleted: Ids of chats that were deleted since the start.
    """

    def __init__(self) -> None:
        self.blank = _empty_chat()
        self.shown = self.blank
        self.deleted: set[str] = set()
        self._background: dict[str, Conversation] = {}
        self._changes: dict[str, int] = {}  # the last one that may be about a chat in the background

    @property
    def is_blank(self) -> bool:
        """Whether the empty chat is shown."""
        return self.shown.chat.id == self.blank.chat.id

    def begin(self, title: str) -> None:
        """Make the empty chat that is shown a chat with a title; there is another empty one from now on."""
        self.put(dataclasses.replace(self.shown, chat=dataclasses.replace(self.shown.chat, title=title)))
        self.blank = _empty_chat()

    def show(self, conversation: Conversation, changes: int) -> None:
        """Show another chat; the one that was shown, with `changes` to save, stays at hand for `let_go`."""
        if not self.is_blank:
            self._background[self.shown.chat.id] = self.shown
            self.note_changes(self.shown.chat.id, changes)
        self.shown = conversation

    def note_changes(self, chat_id: str, changes: int) -> None:
        """Note how many changes must be on the disk before that chat is there as it is here."""
        self._changes[chat_id] = changes

    def at_hand(self, chat_id: str) -> Conversation | None:
        """Return a chat as it is in memory, if it is."""
        return self.shown if chat_id == self.shown.chat.id else self._background.get(chat_id)

    def begun(self) -> tuple[Conversation, ...]:
        """Return the chats at hand in which anything was said, without those that are deleted."""
        chats = (self.shown, *self._background.values())
        return tuple(each for each in chats if each.messages and each.chat.id not in self.deleted)

    def take(self, chat_id: str) -> Conversation | None:
        """Take a chat that is not shown out of memory."""
        return self._background.pop(chat_id, None)

    def put(self, conversation: Conversation) -> None:
        """Take the newer version of a chat, wherever it is; one that is not at hand is not taken."""
        chat_id = conversation.chat.id
        if chat_id == self.blank.chat.id:
            self.blank = conversation
        if chat_id == self.shown.chat.id:
            self.shown = conversation
        elif chat_id in self._background:
            self._background[chat_id] = conversation

    def put_chat(self, chat: ChatSummary) -> None:
        """Take the newer title and times of a chat, if it is at hand."""
        at_hand = self.at_hand(chat.id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, chat=chat))

    def put_settings(self, chat_id: str, settings: ChatSettings) -> None:
        """Take the newer settings of a chat that is not shown, if it is at hand."""
        at_hand = self.blank if chat_id == self.blank.chat.id else self._background.get(chat_id)
        if at_hand is not None:
            self.put(dataclasses.replace(at_hand, settings=settings))

    def put_message(self, message: Message) -> None:
        """Take the newer version of a message; one that was deleted stays so."""
        chats = (self.shown, self._background.get(message.chat_id))
        for chat in chats:
            if chat is not None and any(each.id == message.id for each in chat.messages):
                self.put(chat.replace_message(message))

    def let_go(self, busy: Container[str], settled: int) -> None:
        """Forget the chats that are not shown nor `busy`, and need no more than `settled` changes on the disk."""
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
