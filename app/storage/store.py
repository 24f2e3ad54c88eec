"""The store of chats and statistics: a facade on the main thread, and the worker thread that owns the database."""

from __future__ import annotations

import logging
import queue
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QDeadlineTimer, QEvent, QObject, QThread, Signal, Slot

from app.i18n import tr
from app.storage.database import UNBEGUN, ChatDatabase
from app.storage.errors import StoreError, counted
from app.storage.export import read_chats, write_chats, write_history
from app.storage.write_queue import Write, WriteQueue
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from PySide6.QtCore import SignalInstance

    from app.chat.conversation import ChatSummary, Conversation, Message
    from app.chat.metrics import AnswerRecord
    from app.chat.settings import ChatSettings
    from app.storage.recovery import DailyBackup
    from app.storage.search_index import SearchIndex
    from app.storage.stats import Choice


# A hanging disk must not delay the end: the program has to exit within 3 s.
_END_MS: Final = 2000
_log = logging.getLogger(__name__)


class Store(QObject):
    """The chats and the statistics of answers, for the main thread, which it never blocks except in `close`.

    Calls take effect in the order in which they are made. Nothing that a signal has reported as saved is ever lost.
    A write that fails for now (a full disk) is reported once, kept in memory and retried every second: `committed` may
    follow `failed`.

    Attributes:
        changes: The number of changes so far.
        stuck: Whether the disk did not respond in `close`; the thread may then run forever.

    Signals:
        opened: The chats (a tuple of ChatSummary, the one used last first), and a sentence for the user about damage,
            usually "".
        draft_found: The unsent text of the new chat; after `opened`, when there is any.
        chat_loaded: The Conversation of `load_chat`, and such a sentence about it.
        exported: Path of a file, and the number of chats written to it.
        imported: All chats, as in `opened`, and the number of imported ones.
        found: A query, and the matching chats (a tuple of FoundChat).
        history_read: The AnswerHistory of `read_history`.
        stats_changed: Statistics were added or deleted; what is read from now on includes that.
        history_exported: Path of a file, and the number of answers written to it.
        settled: How many of the `changes`, from the first one, no longer wait for the disk.
        committed: Id of a message on the disk, which was added or is an answer that was finished.
        failed: An ErrorInfo, and the id of the message that is not saved; "" for anything else.
        closed: Everything is written and the thread has ended.
    """

    opened = Signal(object, str)
    draft_found = Signal(str)
    chat_loaded = Signal(object, str)
    found = Signal(str, object)
    exported = Signal(str, int)
    imported = Signal(object, int)
    history_read = Signal(object)
    stats_changed = Signal()
    history_exported = Signal(str, int)
    committed = Signal(str)
    settled = Signal(int)
    failed = Signal(object, str)
    closed = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.changes = 0
        self.stuck = False
        self._end: QDeadlineTimer | None = None
        self._worker = StoreWorker(folder, self)
        self._worker.told.connect(self._emit)

    def open(self) -> None:
        """Open the database: `opened` follows, or `failed` and then nothing can be saved."""
        self._worker.start()

    def finish(self) -> None:
        """Start to write everything that waits; no call may follow but `close`."""
        if self._end is None and self._worker.isRunning():
            self._worker.submit(_Close())
            self._end = QDeadlineTimer(_END_MS)

    def close(self) -> None:
        """Wait until everything is written and the thread has ended, at most 2 s from `finish` on, which is optional.

        All signals about earlier calls have been emitted when it returns, unless it is `stuck`.
        """
        self.finish()
        if self._end is None or self.stuck or not self._worker.isRunning():
            return
        if not self._worker.wait(self._end):
            self.stuck = True
            _log.error("the disk does not respond; unsaved changes: %d", self._worker.unwritten)
            return
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)
        self.closed.emit()

    # ------------------------------------------------------------ reading

    def load_chat(self, chat_id: str) -> None:
        """Read a chat: `chat_loaded` follows, or `failed`."""
        self._read(self.chat_loaded, lambda database: _load(database, chat_id))

    def search(self, query: str) -> None:
        """Find the chats that contain every word of `query`: `found` follows, unless a newer search replaces it."""
        self._worker.search(query)

    def export(
        self,
        path: Path,
        write: Callable[[tuple[Conversation, ...]], str],
        unsaved: Sequence[Conversation] = (),
    ) -> None:
        """Write all chats to a file in the format of `write`: `exported` follows, or `failed`.

        The `unsaved` ones are written as they are in memory.
        """
        self._read(self.exported, lambda database: _export(database, path, write, unsaved))

    def import_chats(self, path: Path, models: Container[str]) -> None:
        """Add the chats of a JSON export: `imported` follows, or `failed`.

        A model that is set in it is kept only when it is one of `models`.
        """
        self._read(self.imported, lambda database: _import(database, path, models))

    def read_history(self, choice: Choice) -> None:
        """Summarise the statistics of the chosen answers: `history_read` follows, or `failed`."""
        self._read(self.history_read, lambda database: (database.figures.read(choice),))

    def export_history(self, path: Path, choice: Choice) -> None:
        """Write the statistics of the chosen answers to a file: `history_exported` follows, or `failed`."""
        self._read(
            self.history_exported,
            lambda database: (str(path), write_history(path, database.figures.each(choice))),
        )

    # ------------------------------------------------------------ writing

    def add_chat(self, chat: ChatSummary) -> None:
        self._write(lambda database: database.add_chat(chat))

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Delete chats; they can be restored for 30 days."""
        now_ms = _now_ms()
        self._write(lambda database: database.delete_chats(chat_ids, now_ms))

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        self._write(lambda database: database.restore_chats(chat_ids))

    def set_title(self, chat_id: str, title: str) -> None:
        self._write(lambda database: database.set_title(chat_id, title))

    def set_pinned(self, chat_id: str, *, pinned: bool) -> None:
        self._write(lambda database: database.set_pinned(chat_id, pinned=pinned))

    def set_settings(self, chat_id: str, settings: ChatSettings) -> None:
        self._write(lambda database: database.set_settings(chat_id, settings))

    def set_leaf(self, chat_id: str, message_id: str) -> None:
        """Store the leaf of the shown branch; the next added message replaces it."""
        self._write(lambda database: database.set_leaf(chat_id, message_id))

    def set_draft(self, chat_id: str, text: str) -> None:
        """Store the unsent text of a chat, or of the `UNBEGUN` one; it is written at most once a second.

        An empty draft is written at once: a message that was sent must not come back as a draft.
        """
        write = Write("", lambda database: database.set_draft(chat_id, text), f"draft {chat_id}")
        if text:
            self._worker.submit(_DelayedWrite(write))
        else:
            self._submit(write)

    def add_message(self, message: Message) -> None:
        """Add a message: `committed` follows, or `failed`."""
        self._write(lambda database: database.add_message(message), message.id)

    def answer_progress(self, message_id: str, text: str, thinking: str = "") -> None:
        """Store the text so far of an answer; it is written at most once a second."""
        write = Write(message_id, lambda database: database.flush_answer(message_id, text, thinking))
        self._worker.submit(_DelayedWrite(write))

    def finish_answer(self, message: Message) -> None:
        """Store the final state of an answer: `committed` follows, or `failed`."""
        self._write(lambda database: database.finish_answer(message), message.id)

    def delete_message(self, message_id: str) -> None:
        """Delete a message and its descendants; they can be restored for 30 days."""
        now_ms = _now_ms()
        self._write(lambda database: database.delete_message(message_id, now_ms))

    def restore_message(self, message_id: str) -> None:
        """Restore a message, and those deleted together with it."""
        self._write(lambda database: database.restore_message(message_id))

    def add_stats(self, make: Callable[[], AnswerRecord]) -> None:
        """Add the statistics of an answer; `make` is called on the thread of the store."""
        self._write(lambda database: database.figures.add(make()))
        self.stats_changed.emit()

    def delete_stats(self) -> None:
        """Delete the statistics of all answers for good."""
        self._write(lambda database: database.figures.clear())
        self.stats_changed.emit()

    # ------------------------------------------------------------ private

    def _write(self, run: Callable[[ChatDatabase], None], message_id: str = "") -> None:
        self._submit(Write(message_id, run))

    def _submit(self, write: Write) -> None:
        self.changes += 1
        self._worker.submit(write)

    def _read(self, signal: SignalInstance, run: Callable[[ChatDatabase], tuple[object, ...]]) -> None:
        self._worker.submit(_Read(run, signal))

    @Slot(object, object)
    def _emit(self, signal: SignalInstance, values: tuple[object, ...]) -> None:
        # On this thread, so that plain functions are called on it too.
        signal.emit(*values)


@dataclass(frozen=True, slots=True)
class _DelayedWrite:
    """A write that a later one of its key may replace within a second."""

    write: Write


@dataclass(frozen=True, slots=True)
class _Read:
    """A task after all earlier writes; `signal` is emitted with its result."""

    run: Callable[[ChatDatabase], tuple[object, ...]]
    signal: SignalInstance


@dataclass(frozen=True, slots=True)
class _Search:
    """A search; skipped when a newer one was submitted."""

    number: int
    query: str


@dataclass(frozen=True, slots=True)
class _Close:
    """The end of the thread, after everything is written."""


_Task = Write | _DelayedWrite | _Read | _Search | _Close


class StoreWorker(QThread):
    """The thread that owns the database; `told` has a signal of the store, and a tuple of its arguments."""

    told = Signal(object, object)

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__()
        self.setObjectName("store")
        self._folder = folder
        self._store = store
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._writes: WriteQueue | None = None  # while the database is open
        self._searches = 0
        self._settled = 0
        self._maintain = True

    @property
    def unwritten(self) -> int:
        """Approximate number of open tasks besides the end; callable from any thread once the end is submitted."""
        return max(0, self._tasks.qsize() - 1) + (self._writes.waiting if self._writes else 0)

    def submit(self, task: _Task) -> None:
        """Queue a task; callable from any thread."""
        self._tasks.put(task)

    def search(self, query: str) -> None:
        """Queue a search that replaces any waiting one; called from one thread only."""
        self._searches += 1
        self.submit(_Search(self._searches, query))

    def run(self) -> None:
        try:
            database = ChatDatabase(self._folder, _now_ms())
        except StoreError as error:
            self._refuse_all(error.info)
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            self._refuse_all(_fault(tr("Your chats could not be opened because of a fault in MTPLX. Restart it.")))
        else:
            with database:
                self._serve(database)

    def _serve(self, database: ChatDatabase) -> None:
        self._writes = writes = WriteQueue(
            database, partial(self._tell, self._store.committed), partial(self._tell, self._store.failed)
        )
        self._answer(self._store.opened, partial(_list, database))
        self._answer(self._store.draft_found, partial(_unbegun_draft, database))
        index = database.search_index()
        backup = database.daily_backup()
        while not isinstance(task := self._next(writes, index, backup), _Close):
            match task:
                case Write():
                    writes.write(task)
                case _DelayedWrite(write):
                    writes.write_soon(write)
                case _Read(run, signal):
                    writes.flush()
                    self._answer(signal, partial(run, database))
                case _Search(number, query) if number == self._searches:
                    self._answer(self._store.found, partial(_find, index, query))
            self._tell_settled(writes)
        writes.flush()
        backup.close()

    def _next(self, writes: WriteQueue, index: SearchIndex, backup: DailyBackup) -> _Task:
        """Return the next task; until it comes, do due writes, indexing and backup in small steps."""
        while True:
            waits = [writes.due_in()]
            if self._maintain:
                waits += [0.0 if index.behind else None, backup.due_in()]
            try:
                return self._tasks.get(timeout=min((wait for wait in waits if wait is not None), default=None))
            except queue.Empty:
                writes.tick()
                self._tell_settled(writes)
                self._maintenance_step(index, backup)

    def _tell_settled(self, writes: WriteQueue) -> None:
        if writes.done != self._settled:
            self._settled = writes.done
            self._tell(self._store.settled, self._settled)

    def _maintenance_step(self, index: SearchIndex, backup: DailyBackup) -> None:
        if not self._maintain:
            return
        try:
            if index.behind:
                index.catch_up()
            else:
                backup.work()
        except Exception:  # noqa: BLE001  a fault here must not cost a message
            _log.exception("no more indexing and copying of the chats until the next start")
            self._maintain = False

    def _answer(self, signal: SignalInstance, read: Callable[[], tuple[object, ...] | None]) -> None:
        """Emit `signal` with the result of `read`, if any, or `failed`."""
        try:
            values = read()
        except StoreError as error:
            self._tell(self._store.failed, error.info, "")
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            fault = _fault(tr("Your chats could not be read because of a fault in MTPLX. Restart it."))
            self._tell(self._store.failed, fault, "")
        else:
            if values is not None:
                self._tell(signal, *values)

    def _tell(self, signal: SignalInstance, *values: object) -> None:
        self.told.emit(signal, values)

    def _refuse_all(self, info: ErrorInfo) -> None:
        self._tell(self._store.failed, info, "")
        while not isinstance(task := self._tasks.get(), _Close):
            # Not for delayed writes, which come with every frame or key press.
            if isinstance(task, Write):
                self._tell(self._store.failed, info, task.message_id)
            elif isinstance(task, _Read):
                self._tell(self._store.failed, info, "")


def _list(database: ChatDatabase) -> tuple[object, ...]:
    chats, unreadable = database.list_chats()
    one = tr("1 chat cannot be read and stays hidden; nothing was deleted.")
    many = tr("{count} chats cannot be read and stay hidden; nothing was deleted.")
    damage = counted(unreadable, one, many) if unreadable else ""
    return chats, f"{database.notice} {damage}".strip()


def _unbegun_draft(database: ChatDatabase) -> tuple[object, ...] | None:
    draft = database.draft(UNBEGUN)
    return (draft,) if draft else None


def _load(database: ChatDatabase, chat_id: str) -> tuple[object, ...]:
    conversation, unreadable = database.load_chat(chat_id)
    one = tr("1 part of this chat cannot be read and stays hidden; nothing was deleted.")
    many = tr("{count} parts of this chat cannot be read and stay hidden; nothing was deleted.")
    return conversation, counted(unreadable, one, many) if unreadable else ""


def _find(index: SearchIndex, query: str) -> tuple[object, ...]:
    return query, index.find(query)


def _export(
    database: ChatDatabase,
    path: Path,
    write: Callable[[tuple[Conversation, ...]], str],
    unsaved: Sequence[Conversation],
) -> tuple[object, ...]:
    newer = {conversation.chat.id: conversation for conversation in unsaved}
    saved = [chat.id for chat in database.list_chats()[0]]
    fresh = [conversation for chat_id, conversation in newer.items() if chat_id not in saved]
    chats = (*fresh, *(newer.get(chat_id) or database.load_chat(chat_id)[0] for chat_id in saved))
    write_chats(path, write(chats))
    return str(path), len(chats)


def _import(database: ChatDatabase, path: Path, models: Container[str]) -> tuple[object, ...]:
    conversations = read_chats(path, models)
    # Exported with the one used last first, which is to be so here too.
    database.import_chats(conversations[::-1])
    return database.list_chats()[0], len(conversations)


def _fault(message: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.INTERNAL, message, traceback.format_exc())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
