"""The thread of the store: tasks in the order in which they come, and quiet work in between."""

from __future__ import annotations

import logging
import queue
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QThread, Signal

from app.services.chat_database import UNBEGUN, ChatDatabase
from app.services.export_file import read_export, write_export
from app.services.figures_export import write_figures
from app.services.store_error import StoreError, counted
from app.services.write_queue import Write, WriteQueue
from app.translate import tr
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from app.chat.conversation import Conversation
    from app.services.daily_backup import DailyBackup
    from app.services.history import Choice
    from app.services.search_index import SearchIndex

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Growing:
    """A write that may wait a second for a later one to take its place."""

    write: Write


@dataclass(frozen=True, slots=True)
class Read:
    """Something that is done once all writes before it are on the disk, and sends signals itself."""

    run: Callable[[ChatDatabase], None]


@dataclass(frozen=True, slots=True)
class Search:
    """A search; pointless when another one was begun since."""

    number: int
    query: str


@dataclass(frozen=True, slots=True)
class Close:
    """The end, once everything is written."""


Task = Write | Growing | Read | Search | Close


class StoreWorker(QThread):
    """The thread that owns the database.

    Signals: those of `Store`, sent from this thread.
    """

    opened = Signal(object, str)
    draft_found = Signal(str)
    chat_loaded = Signal(object, str)
    found = Signal(str, object)
    exported = Signal(str, int)
    imported = Signal(object, int)
    history_read = Signal(object)
    history_exported = Signal(str, int)
    committed = Signal(str)
    settled = Signal(int)
    failed = Signal(object, str)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.setObjectName("store")
        self._folder = folder
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._writes: WriteQueue | None = None  # while the database is open
        self._searches = 0
        self._settled = 0
        self._tidy = True

    @property
    def unwritten(self) -> int:
        """About how many tasks are not done, without the end itself; for any thread, once the end is in line."""
        return max(0, self._tasks.qsize() - 1) + (self._writes.waiting if self._writes else 0)

    def submit(self, task: Task) -> None:
        """Put `task` in line; callable from any thread."""
        self._tasks.put(task)

    def search(self, query: str) -> None:
        """Put a search in line, in the place of any that still waits; called from one thread only."""
        self._searches += 1
        self.submit(Search(self._searches, query))

    def run(self) -> None:
        """Open the database and do the tasks until one says close."""
        try:
            database = ChatDatabase(self._folder, time.time_ns() // 1_000_000)
        except StoreError as error:
            self._refuse_all(error.info)
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            self._refuse_all(
                _fault(tr("Your chats could not be opened because of a fault in MTPLX. Restart it."))
            )
        else:
            with database:
                self._serve(database)

    def load(self, database: ChatDatabase, chat_id: str) -> None:
        """Read a chat and tell it; called on this thread."""
        conversation, unreadable = database.load_chat(chat_id)
        one = tr("1 part of this chat cannot be read and stays hidden; nothing was deleted.")
        many = tr("{count} parts of this chat cannot be read and stay hidden; nothing was deleted.")
        self.chat_loaded.emit(conversation, counted(unreadable, one, many) if unreadable else "")

    def export(
        self,
        database: ChatDatabase,
        path: Path,
        write: Callable[[tuple[Conversation, ...]], str],
        unsaved: Sequence[Conversation],
    ) -> None:
        """Write all chats to a file and tell it; called on this thread."""
        newer = {conversation.chat.id: conversation for conversation in unsaved}
        saved = [chat.id for chat in database.list_chats()[0]]
        fresh = [conversation for chat_id, conversation in newer.items() if chat_id not in saved]
        chats = (*fresh, *(newer.get(chat_id) or database.load_chat(chat_id)[0] for chat_id in saved))
        write_export(path, write(chats))
        self.exported.emit(str(path), len(chats))

    def import_chats(self, database: ChatDatabase, path: Path, models: Container[str]) -> None:
        """Add the chats of a file and tell it; called on this thread."""
        conversations = read_export(path, models)
        # Exported with the one used last first, which is to be so here too.
        database.import_chats(conversations[::-1])
        self.imported.emit(database.list_chats()[0], len(conversations))

    def read_history(self, database: ChatDatabase, choice: Choice) -> None:
        """Reduce the figures of answers and tell them; called on this thread."""
        self.history_read.emit(database.figures.read(choice))

    def export_history(self, database: ChatDatabase, path: Path, choice: Choice) -> None:
        """Write the figures of answers to a file and tell it; called on this thread."""
        self.history_exported.emit(str(path), write_figures(path, database.figures.each(choice)))

    def _serve(self, database: ChatDatabase) -> None:
        self._writes = writes = WriteQueue(database, self.committed.emit, self.failed.emit)
        self._answer(partial(self._list, database))
        index = database.search_index()
        backup = database.daily_backup()
        while not isinstance(task := self._next(writes, index, backup), Close):
            match task:
                case Write():
                    writes.write(task)
                case Growing(write):
                    writes.write_soon(write)
                case Read(run):
                    writes.flush()
                    self._answer(partial(run, database))
                case Search(number, query) if number == self._searches:
                    self._answer(lambda query=query: self.found.emit(query, index.find(query)))  # type: ignore[misc]
            self._tell_settled(writes)
        writes.flush()
        backup.close()

    def _next(self, writes: WriteQueue, index: SearchIndex, backup: DailyBackup) -> Task:
        """Return the next task; until it comes, do a little at a time of what can be done at any time."""
        while True:
            waits = [writes.due_in()]
            if self._tidy:
                waits += [0.0 if index.behind else None, backup.due_in()]
            try:
                return self._tasks.get(
                    timeout=min((wait for wait in waits if wait is not None), default=None)
                )
            except queue.Empty:
                writes.tick()
                self._tell_settled(writes)
                self._work(index, backup)

    def _tell_settled(self, writes: WriteQueue) -> None:
        if writes.done != self._settled:
            self._settled = writes.done
            self.settled.emit(self._settled)

    def _work(self, index: SearchIndex, backup: DailyBackup) -> None:
        if not self._tidy:
            return
        try:
            if index.behind:
                index.catch_up()
            else:
                backup.work()
        except Exception:  # noqa: BLE001  a fault here must not cost anybody a message
            _log.exception("no more indexing and copying of the chats until the next start")
            self._tidy = False

    def _answer(self, read: Callable[[], None]) -> None:
        try:
            read()
        except StoreError as error:
            self.failed.emit(error.info, "")
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            self.failed.emit(
                _fault(tr("Your chats could not be read because of a fault in MTPLX. Restart it.")), ""
            )

    def _list(self, database: ChatDatabase) -> None:
        chats, unreadable = database.list_chats()
        one = tr("1 chat cannot be read and stays hidden; nothing was deleted.")
        many = tr("{count} chats cannot be read and stay hidden; nothing was deleted.")
        damage = counted(unreadable, one, many) if unreadable else ""
        self.opened.emit(chats, f"{database.notice} {damage}".strip())
        draft = database.draft(UNBEGUN)
        if draft:
            self.draft_found.emit(draft)

    def _refuse_all(self, info: ErrorInfo) -> None:
        self.failed.emit(info, "")
        while not isinstance(task := self._tasks.get(), Close):
            # Not for what comes with every frame or key.
            if isinstance(task, Write):
                self.failed.emit(info, task.message_id)
            elif isinstance(task, Read):
                self.failed.emit(info, "")


def _fault(message: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.INTERNAL, message, traceback.format_exc())
