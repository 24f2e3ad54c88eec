"""The chats as the window sees them: calls that never wait, answers as signals."""

from __future__ import annotations

import queue
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread, Signal

from app.services.chat_database import UNBEGUN, ChatDatabase
from app.services.store_error import StoreError, counted
from app.services.write_queue import Write, WriteQueue
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from app.chat.chat_settings import ChatSettings
    from app.chat.conversation import ChatSummary, Message


@dataclass(frozen=True, slots=True)
class _Growing:
    write: Write


@dataclass(frozen=True, slots=True)
class _Load:
    chat_id: str


@dataclass(frozen=True, slots=True)
class _Close:
    pass


_Task = Write | _Growing | _Load | _Close


class Store(QObject):
    """Keeps chats and messages. Lives on the main thread and never blocks it, except in `close`.

    Calls take effect in the order in which they are made. Nothing that a signal has said is saved is ever lost.
    What cannot be saved now (a full disk) is told once, kept in memory and tried again every second: `committed`
    may follow `failed`.

    Signals:
        opened: The chats (a tuple of ChatSummary, the one used last first), and a sentence for the person about
            damage that was found, usually "".
        draft_found: What was typed in a chat that was never begun; after `opened`, when there is any.
        chat_loaded: A Conversation that `load_chat` asked for, and such a sentence about it.
        committed: Id of a message that is on the disk: one that was added, or an answer that was finished.
        failed: An ErrorInfo, and the id of the message that is not saved; "" when it is about something else.
        closed: Everything is written and the thread has ended.
    """

    opened = Signal(object, str)
    draft_found = Signal(str)
    chat_loaded = Signal(object, str)
    committed = Signal(str)
    failed = Signal(object, str)
    closed = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        """Prepare a store of the chats in `folder`, which belongs to it alone."""
        super().__init__(parent)
        self._worker = StoreWorker(folder)
        # Signal to signal, so that receivers of any kind are called on this object's thread.
        self._worker.opened.connect(self.opened)
        self._worker.draft_found.connect(self.draft_found)
        self._worker.chat_loaded.connect(self.chat_loaded)
        self._worker.committed.connect(self.committed)
        self._worker.failed.connect(self.failed)

    def open(self) -> None:
        """Start to open the file: `opened` follows, or `failed` and then nothing can be saved."""
        self._worker.start()

    def load_chat(self, chat_id: str) -> None:
        """Read a chat: `chat_loaded` follows, or `failed`."""
        self._worker.submit(_Load(chat_id))

    def add_chat(self, chat: ChatSummary) -> None:
        """Keep a new chat."""
        self._write(lambda database: database.add_chat(chat))

    def add_message(self, message: Message) -> None:
        """Keep a new message: `committed` follows, or `failed`."""
        self._worker.submit(Write(message.id, lambda database: database.add_message(message)))

    def answer_progress(self, message_id: str, text: str, thinking: str = "") -> None:
        """Note an answer so far, as often as you like; it is written at most once a second."""
        write = Write(message_id, lambda database: database.flush_answer(message_id, text, thinking))
        self._worker.submit(_Growing(write))

    def finish_answer(self, message: Message) -> None:
        """Keep the final state of an answer: `committed` follows, or `failed`."""
        self._worker.submit(Write(message.id, lambda database: database.finish_answer(message)))

    def delete_message(self, message_id: str) -> None:
        """Take a message and all that follow it out of its chat; they can be restored for 30 days."""
        now_ms = _now_ms()
        self._write(lambda database: database.delete_message(message_id, now_ms))

    def restore_message(self, message_id: str) -> None:
        """Bring back a message, and what was deleted together with it."""
        self._write(lambda database: database.restore_message(message_id))

    def set_leaf(self, chat_id: str, message_id: str) -> None:
        """Note the last message of the branch that is shown; the next message that is added takes its place."""
        self._write(lambda database: database.set_leaf(chat_id, message_id))

    def set_title(self, chat_id: str, title: str) -> None:
        """Call a chat something else."""
        self._write(lambda database: database.set_title(chat_id, title))

    def set_pinned(self, chat_id: str, *, pinned: bool) -> None:
        """Put a chat above the others, or back among them."""
        self._write(lambda database: database.set_pinned(chat_id, pinned=pinned))

    def set_settings(self, chat_id: str, settings: ChatSettings) -> None:
        """Keep what is set for a chat that was added before."""
        self._write(lambda database: database.set_settings(chat_id, settings))

    def set_draft(self, chat_id: str, text: str) -> None:
        """Note what is typed in a chat and not sent, as often as you like; it is written at most once a second.

        An empty draft is written at once: what was sent must not come back. Use `UNBEGUN` for the chat that has
        not been added yet.
        """
        write = Write("", lambda database: database.set_draft(chat_id, text), f"draft {chat_id}")
        self._worker.submit(_Growing(write) if text else write)

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Take chats out of the list; they can be restored for 30 days."""
        now_ms = _now_ms()
        self._write(lambda database: database.delete_chats(chat_ids, now_ms))

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        """Bring deleted chats back."""
        self._write(lambda database: database.restore_chats(chat_ids))

    def _write(self, run: Callable[[ChatDatabase], None]) -> None:
        self._worker.submit(Write("", run))

    def close(self) -> None:
        """Wait until everything is written and the thread has ended; no call may follow but another `close`.

        All signals about what came before have been sent when it returns.
        """
        if not self._worker.isRunning():
            return
        self._worker.submit(_Close())
        self._worker.wait()
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)
        self.closed.emit()


class StoreWorker(QThread):
    """The thread that owns the database.

    Signals: those of `Store`, sent from this thread.
    """

    opened = Signal(object, str)
    draft_found = Signal(str)
    chat_loaded = Signal(object, str)
    committed = Signal(str)
    failed = Signal(object, str)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.setObjectName("store")
        self._folder = folder
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()

    def submit(self, task: _Task) -> None:
        """Put `task` in line; callable from any thread."""
        self._tasks.put(task)

    def run(self) -> None:
        """Open the database and do the tasks until one says close."""
        try:
            database = ChatDatabase(self._folder, _now_ms())
        except StoreError as error:
            self._refuse_all(error.info)
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            self._refuse_all(
                _fault("Your chats could not be opened because of a fault in MTPLX. Restart it.")
            )
        else:
            with database:
                self._serve(database)

    def _serve(self, database: ChatDatabase) -> None:
        writes = WriteQueue(database, self.committed.emit, self.failed.emit)
        self._answer(partial(self._list, database))
        while True:
            try:
                task = self._tasks.get(timeout=writes.due_in())
            except queue.Empty:
                writes.tick()
                continue
            match task:
                case Write():
                    writes.write(task)
                case _Growing(write):
                    writes.write_soon(write)
                case _Load(chat_id):
                    writes.flush()
                    self._answer(partial(self._load, database, chat_id))
                case _Close():
                    writes.flush()
                    return

    def _answer(self, read: Callable[[], None]) -> None:
        try:
            read()
        except StoreError as error:
            self.failed.emit(error.info, "")
        except Exception:  # noqa: BLE001  the border of the thread: nothing may vanish in it
            self.failed.emit(
                _fault("Your chats could not be read because of a fault in MTPLX. Restart it."), ""
            )

    def _list(self, database: ChatDatabase) -> None:
        chats, unreadable = database.list_chats()
        self.opened.emit(chats, f"{database.notice} {_about_unreadable(unreadable, 'chat')}".strip())
        draft = database.draft(UNBEGUN)
        if draft:
            self.draft_found.emit(draft)

    def _load(self, database: ChatDatabase, chat_id: str) -> None:
        conversation, unreadable = database.load_chat(chat_id)
        self.chat_loaded.emit(conversation, _about_unreadable(unreadable, "part", " of this chat"))

    def _refuse_all(self, info: ErrorInfo) -> None:
        self.failed.emit(info, "")
        while not isinstance(task := self._tasks.get(), _Close):
            # Not for progress, which comes with every frame.
            if isinstance(task, Write):
                self.failed.emit(info, task.message_id)
            elif isinstance(task, _Load):
                self.failed.emit(info, "")


def _about_unreadable(number: int, noun: str, of: str = "") -> str:
    if not number:
        return ""
    return f"{counted(number, noun)}{of} cannot be read and stays hidden; nothing was deleted."


def _fault(message: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.INTERNAL, message, traceback.format_exc())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
