"""The one way of a question: onto the disk, then to the engine, its answer kept as it grows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import Message, MessageStatus
from app.chat.turn import Outcome, Turn, missing_answer
from app.services.chat_database import UNBEGUN
from app.session.desk import Desk
from app.session.edits import Edits
from app.session.questions import Questions
from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.chat_settings import ChatSettings
    from app.chat.conversation import Attachment, ChatSummary, Conversation
    from app.chat.turn import Piece
    from app.services.store import Store
    from app.session.answer_line import AnswerLine
    from mtplx_engine.stats import DecodeStats


class ChatSession(QObject):
    """Shows one chat at a time, and takes questions in it.

    A question asked while another chat is being answered, or while the model loads, waits in line: it is saved at
    once, can be stopped at once, and needs nobody to come back for it.

    Attributes:
        questions: Asks.
        edits: Changes what is there.

    Signals:
        opened(Conversation): This chat is the shown one now.
        rearranged(Conversation): Another branch of the shown chat is shown now.
        listed(ChatSummary): A chat is new, or was written in.
        added(Message): A message follows in its chat.
        streamed(str, Piece): Id of an answer, and what came of it.
        changed(Message): An answer ended, begins again, or has figures now.
        waiting(str, str): Id of an answer, and in words what it waits for; "" for nothing to speak of.
        reading(Reading | None, DepthChosen | None): The live figures of the shown chat's answer, and its draft depth.
        activity(frozenset[str]): The chats with an answer to come.
        notice(str): A sentence for the person that belongs to no message.
        settings_changed(ChatSettings): The settings of the shown chat are others now.
    """

    opened = Signal(object)
    rearranged = Signal(object)
    listed = Signal(object)
    added = Signal(object)
    streamed = Signal(str, object)
    changed = Signal(object)
    waiting = Signal(str, str)
    reading = Signal(object, object)
    activity = Signal(object)
    notice = Signal(str)
    settings_changed = Signal(object)

    def __init__(self, store: Store, line: AnswerLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._line = line
        self._desk = Desk()
        self.questions = Questions(self, self._desk, store, line)
        self.edits = Edits(self, store)
        self._wanted = ""  # a chat that is being read from the disk
        self._settled = 0  # changes that wait for the disk no longer
        self._faults: dict[str, ErrorInfo] = {}  # of answers that failed since the start
        self._refused: set[str] = set()  # messages that could not be saved so far
        store.chat_loaded.connect(self._chat_loaded)
        store.committed.connect(self._committed)
        store.settled.connect(self._note_settled)
        store.failed.connect(self._not_saved)
        line.streamed.connect(self._streamed)
        line.measured.connect(self._measured)
        line.waiting.connect(self._waiting)
        line.ended.connect(self._ended)
        line.figures.connect(self._figures)

    @property
    def shown(self) -> Conversation:
        """The chat that is shown, with what has been written of an answer so far."""
        return self._as_it_is(self._desk.shown)

    @property
    def unsaved(self) -> tuple[Conversation, ...]:
        """The chats of which something may not be on the disk, with what has been written of answers so far."""
        if self._settled >= self._store.changes:
            return ()
        return tuple(self._as_it_is(conversation) for conversation in self._desk.begun())

    @property
    def refused(self) -> tuple[Conversation, ...]:
        """The chats of which something could not be saved so far, with what has been written of answers."""
        chats, lost = self._desk.begun(), self._refused
        return tuple(self._as_it_is(each) for each in chats if any(said.id in lost for said in each.messages))

    @property
    def chat_id(self) -> str:
        """The id of the chat that is shown."""
        return self._desk.shown.chat.id

    @property
    def settings(self) -> ChatSettings:
        """What is set for the chat that is shown."""
        return self._desk.shown.settings

    @property
    def loaded_model(self) -> str:
        """The name of the model that is loaded; "" before the first."""
        return self._line.model.name if self._line.model else ""

    @property
    def largest_window(self) -> int:
        """How many tokens the model's context window can hold; 0 without a model."""
        return self._line.model.context_window if self._line.model else 0

    @property
    def sampler(self) -> SamplerConfig:
        """How the tokens of the next answer are chosen in the chat that is shown."""
        model = self._line.model
        return self.settings.sampler or (model.recommended if model else SamplerConfig())

    @property
    def turn(self) -> Turn | None:
        """The answer to come in the chat that is shown."""
        return self._line.turn_in(self._desk.shown.chat.id)

    @property
    def busy(self) -> bool:
        """Whether an answer is to come in the chat that is shown."""
        return self.turn is not None

    def at_hand(self, chat_id: str) -> Conversation | None:
        """Return a chat as it is in memory, which may be newer than on the disk; None when it is on the disk only."""
        conversation = self._desk.at_hand(chat_id)
        return None if conversation is None else self._as_it_is(conversation)

    # ------------------------------------------------------------ which chat is shown

    def new_chat(self) -> None:
        """Show the empty chat, which is kept once something is asked in it."""
        self._wanted = ""
        self._show(self._desk.blank)

    def open_chat(self, chat_id: str) -> None:
        """Show another chat; `opened` follows when it has been read."""
        at_hand = None if chat_id == self._desk.shown.chat.id else self._desk.take(chat_id)
        if at_hand is not None or chat_id == self._desk.shown.chat.id:
            self._wanted = ""
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)
        if at_hand is not None:
            self._show(at_hand)

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Take chats out of the list; answers to come in them are stopped."""
        for chat_id in chat_ids:
            turn = self._line.turn_in(chat_id)
            if turn:
                self._line.stop(turn)
        self._desk.deleted.update(chat_ids)
        self._store.delete_chats(chat_ids)
        if self._desk.shown.chat.id in chat_ids:
            self._show(self._desk.blank)

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        """Bring back chats that were deleted."""
        self._desk.deleted.difference_update(chat_ids)
        self._store.restore_chats(chat_ids)

    def take_chat(self, chat: ChatSummary) -> None:
        """Take the new title or pin of a chat, which is saved elsewhere."""
        self._desk.put_chat(chat)
        self.listed.emit(chat)

    def set_draft(self, chat_id: str, text: str) -> None:
        """Keep what is typed in a chat and not sent."""
        self._store.set_draft(UNBEGUN if chat_id == self._desk.blank.chat.id else chat_id, text)

    def set_settings(self, settings: ChatSettings) -> None:
        """Set what holds for the next answers of the chat that is shown."""
        shown = self._desk.shown
        if settings == shown.settings:
            return
        self._desk.put(dataclasses.replace(shown, settings=settings))
        if not self._desk.is_blank:
            self._store.set_settings(shown.chat.id, settings)
        self.settings_changed.emit(settings)
        if settings.reads_from != shown.settings.reads_from:
            self.rearranged.emit(self.shown)

    def set_settings_of(self, chat_id: str, settings: ChatSettings) -> None:
        """Set what holds for the next answers of a chat, whether it is shown or not, or even deleted."""
        if chat_id == self.chat_id:
            self.set_settings(settings)
            return
        self._desk.put_settings(chat_id, settings)
        if chat_id != self._desk.blank.chat.id:
            self._store.set_settings(chat_id, settings)

    def rearrange(self, conversation: Conversation) -> None:
        """Show the chat that is shown with another branch, or without some messages."""
        self._desk.put(conversation)
        if conversation.leaf_id is not None:
            self._store.set_leaf(conversation.chat.id, conversation.leaf_id)
        self.rearranged.emit(self.shown)

    # ------------------------------------------------------------ asking

    def send(self, text: str, attachments: Sequence[Attachment] = (), *, alone: bool = False) -> bool:
        """Ask `text` in the chat that is shown, about some files; return whether it was taken.

        With `alone` the model reads nothing of what came before, from now on.
        """
        if self.busy or self._wanted or not (text.strip() or attachments):
            return False
        self.questions.say(text, attachments, self._desk.shown.leaf_id, alone=alone)
        return True

    def stop(self) -> None:
        """Stop the answer in the chat that is shown."""
        if self.turn:
            self._line.stop(self.turn)

    def fault(self, message: Message) -> ErrorInfo | None:
        """Return why an answer failed, if that was since the start."""
        return self._faults.get(message.id)

    def close(self) -> None:
        """Keep what there is of all answers, because the program ends."""
        self._line.interrupt()

    # ------------------------------------------------------------ what the store tells

    def _chat_loaded(self, conversation: Conversation, damage: str) -> None:
        if conversation.chat.id == self._wanted:
            self._wanted = ""
            missing = missing_answer(conversation)
            if missing is not None:
                self.questions.unsaved.add(missing.id)
                self._store.add_message(missing)
                conversation = conversation.with_message(missing)
            self._show(conversation)
        if damage:
            self.notice.emit(damage)

    def _committed(self, message_id: str) -> None:
        self.questions.unsaved.discard(message_id)
        self._refused.discard(message_id)
        for turn in self._line.turns:
            if turn.question_id == message_id:
                turn.committed = True
        self._line.advance()

    def _note_settled(self, changes: int) -> None:
        self._settled = changes
        self._desk.let_go(self._busy_chats(), changes)

    def _not_saved(self, error: ErrorInfo, message_id: str) -> None:
        if message_id:
            self._refused.add(message_id)
        for turn in self._line.turns:
            if turn.question_id == message_id and not turn.committed:
                self._line.fail(turn, error)
                return
        if self._wanted and not message_id:
            self._wanted = ""
            self.opened.emit(self.shown)  # the one that could not be read is not
        self.notice.emit(error.message)

    # ------------------------------------------------------------ what the line tells

    def _streamed(self, turn: Turn, piece: Piece) -> None:
        self.streamed.emit(turn.answer.id, piece)
        self._store.answer_progress(turn.answer.id, turn.text, turn.thinking)

    def _measured(self, turn: Turn) -> None:
        if turn.chat_id == self._desk.shown.chat.id:
            self.reading.emit(turn.meter.reading(), turn.depth)

    def _waiting(self, turn: Turn, words: str) -> None:
        self.waiting.emit(turn.answer.id, words)

    def _ended(self, turn: Turn, outcome: Outcome) -> None:
        self._faults.pop(turn.answer.id, None)
        if outcome.error is not None:
            # With the engine down, starting it is what helps, unless it would be refused again.
            keeps_kind = not self._line.down or outcome.error.kind is ErrorKind.TOO_BIG
            kind = outcome.error.kind if keeps_kind else ErrorKind.ENGINE_LOST
            self._faults[turn.answer.id] = dataclasses.replace(outcome.error, kind=kind)
        self._keep(turn, outcome)
        self.tell_activity()

    def _figures(self, turn: Turn, stats: DecodeStats) -> None:
        """Take the figures of a stopped answer, which may be written on already."""
        newer = self._line.turn_in(turn.chat_id)
        if newer is not None and newer.answer.id == turn.answer.id:
            newer.follow(turn, stats)
        else:
            self._keep(turn, Outcome(MessageStatus.STOPPED, stats))

    # ------------------------------------------------------------ inside

    def _show(self, conversation: Conversation) -> None:
        self._desk.show(conversation, self._store.changes)
        self.opened.emit(self.shown)
        self.tell_activity()
        self._line.tell_waiting()

    def _keep(self, turn: Turn, outcome: Outcome) -> None:
        """Write how an answer ended, and take it into its chat, wherever that is."""
        message = turn.outcome(outcome, self.loaded_model)
        self._desk.put_message(message)
        self._store.finish_answer(message)
        self._desk.note_changes(turn.chat_id, self._store.changes)
        self.changed.emit(message)

    def tell_activity(self) -> None:
        """Say in which chats an answer is to come."""
        busy = self._busy_chats()
        self._desk.let_go(busy, self._settled)
        self.activity.emit(busy)

    def _busy_chats(self) -> frozenset[str]:
        return frozenset(turn.chat_id for turn in self._line.turns)

    def _as_it_is(self, conversation: Conversation) -> Conversation:
        turn = self._line.turn_in(conversation.chat.id)
        return conversation.replace_message(turn.snapshot()) if turn else conversation
