"""The chats as the window sees them: calls that never wait, answers as signals."""

from __future__ import annotations

import queue
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread, Signal

from app.services.chat_database import ChatDatabase
from app.services.store_error import StoreError, counted
from app.services.write_queue import Write, WriteQueue
from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.chat.conversation import ChatSummary, Message


@dataclass(frozen=True, slots=True)
class _Progress:
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class _Load:
    chat_id: str


@dataclass(frozen=True, slots=True)
class _Close:
    pass


_Task = Write | _Progress | _Load | _Close


class Store(QObject):
    """Keeps chats and messages. Lives on the main thread and never blocks it, except in `close`.

    Calls take effect in the order in which they are made. Nothing that a signal has said is saved is ever lost.
    What cannot be saved now (a full disk) is told once, kept in memory and tried again every second: `committed`
    may follow `failed`.

    Signals:
        opened: The chats (a tuple of ChatSummary, the one used last first), and a sentence for the person about
            damage that was found, usually "".
        chat_loaded: A Conversation that `load_chat` asked for, and such a sentence about it.
        committed: Id of a message that is on the disk: one that was added, or an answer that was finished.
        failed: An ErrorInfo, and the id of the message that is not saved; "" when it is about something else.
        closed: Everything is written and the thread has ended.
    """

    opened = Signal(object, str)
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
        self._worker.submit(Write("", lambda database: database.add_chat(chat)))

    def add_message(self, message: Message) -> None:
        """Keep a new message: `committed` follows, or `failed`."""
        self._worker.submit(Write(message.id, lambda database: database.add_message(message)))

    def answer_progress(self, message_id: str, text: str) -> None:
        """Note the text of an answer so far, as often as you like; it is written at most once a second."""
        self._worker.submit(_Progress(message_id, text))

    def finish_answer(self, message: Message) -> None:
        """Keep the final state of an answer: `committed` follows, or `failed`."""
        self._worker.submit(Write(message.id, lambda database: database.finish_answer(message)))

    def delete_chat(self, chat_id: str) -> None:
        """Take a chat out of the list; it can be restored for 30 days."""
        now_ms = _now_ms()
        self._worker.submit(Write("", lambda database: database.delete_chat(chat_id, now_ms)))

    def restore_chat(self, chat_id: str) -> None:
        """Bring a deleted chat back."""
        self._worker.submit(Write("", lambda database: database.restore_chat(chat_id)))

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
                case _Progress(message_id, text):
                    writes.progress(message_id, text)
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

    def _load(self, database: ChatDatabase, chat_id: str) -> None:
        conversation, unreadable = database.load_chat(chat_id)
        self.chat_loaded.emit(conversation, _about_unreadable(unreadable, "message"))

    def _refuse_all(self, info: ErrorInfo) -> None:
        self.failed.emit(info, "")
        while not isinstance(task := self._tasks.get(), _Close):
            # Not for progress, which comes with every frame.
            if isinstance(task, Write):
                self.failed.emit(info, task.message_id)
            elif isinstance(task, _Load):
                self.failed.emit(info, "")


def _about_unreadable(number: int, noun: str) -> str:
    if not number:
        return ""
    return f"{counted(number, noun)} cannot be read and stays hidden; nothing was deleted."


def _fault(message: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.INTERNAL, message, traceback.format_exc())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
