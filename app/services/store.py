"""The chats as the window sees them: calls that never wait, answers as signals."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QDeadlineTimer, QEvent, QObject, Signal

from app.services.store_worker import Close, Growing, Read, StoreWorker
from app.services.write_queue import Write

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from app.chat.chat_settings import ChatSettings
    from app.chat.conversation import ChatSummary, Conversation, Message
    from app.chat.figures import AnswerFigures
    from app.services.chat_database import ChatDatabase
    from app.services.history import Choice

# A disk that hangs must not hold up the end: the program is to be gone 3 s after it was asked to.
_END_MS: Final = 2000
_log = logging.getLogger(__name__)


class Store(QObject):
    """Keeps chats and messages. Lives on the main thread and never blocks it, except in `close`.

    Calls take effect in the order in which they are made. Nothing that a signal has said is saved is ever lost.
    What cannot be saved now (a full disk) is told once, kept in memory and tried again every second: `committed`
    may follow `failed`.

    Attributes:
        changes: How many changes it was asked to keep.
        stuck: Whether the disk did not answer when it was closed. Its thread still runs then, and may for ever.

    Signals:
        opened: The chats (a tuple of ChatSummary, the one used last first), and a sentence for the person about
            damage that was found, usually "".
        draft_found: What was typed in a chat that was never begun; after `opened`, when there is any.
        chat_loaded: A Conversation that `load_chat` asked for, and such a sentence about it.
        exported: Path of a file, and how many chats were written to it.
        imported: All chats there are now, as in `opened`, and how many of them were imported.
        found: A query, and the chats that it finds (a tuple of FoundChat).
        history_read: A History that `read_history` asked for.
        figures_changed: Figures are on their way to the disk, or out of it: what is read from now on has them so.
        history_exported: Path of a file, and the figures of how many answers were written to it.
        settled: How many of the `changes`, from the first one on, wait for the disk no longer.
        committed: Id of a message that is on the disk: one that was added, or an answer that was finished.
        failed: An ErrorInfo, and the id of the message that is not saved; "" when it is about something else.
        closed: Everything is written and the thread has ended.
    """

    opened = Signal(object, str)
    draft_found = Signal(str)
    chat_loaded = Signal(object, str)
    found = Signal(str, object)
    exported = Signal(str, int)
    imported = Signal(object, int)
    history_read = Signal(object)
    figures_changed = Signal()
    history_exported = Signal(str, int)
    committed = Signal(str)
    settled = Signal(int)
    failed = Signal(object, str)
    closed = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        """Prepare a store of the chats in `folder`, which belongs to it alone."""
        super().__init__(parent)
        self.changes = 0
        self.stuck = False
        self._end: QDeadlineTimer | None = None
        self._worker = StoreWorker(folder)
        # Signal to signal, so that receivers of any kind are called on this object's thread.
        self._worker.opened.connect(self.opened)
        self._worker.draft_found.connect(self.draft_found)
        self._worker.chat_loaded.connect(self.chat_loaded)
        self._worker.found.connect(self.found)
        self._worker.exported.connect(self.exported)
        self._worker.imported.connect(self.imported)
        self._worker.history_read.connect(self.history_read)
        self._worker.history_exported.connect(self.history_exported)
        self._worker.committed.connect(self.committed)
        self._worker.settled.connect(self.settled)
        self._worker.failed.connect(self.failed)

    def open(self) -> None:
        """Start to open the file: `opened` follows, or `failed` and then nothing can be saved."""
        self._worker.start()

    def load_chat(self, chat_id: str) -> None:
        """Read a chat: `chat_loaded` follows, or `failed`."""
        self._worker.submit(Read(lambda database: self._worker.load(database, chat_id)))

    def search(self, query: str) -> None:
        """Look for chats that hold every word of `query`: `found` follows, unless another search was begun since."""
        self._worker.search(query)

    def add_chat(self, chat: ChatSummary) -> None:
        """Keep a new chat."""
        self._write(lambda database: database.add_chat(chat))

    def add_message(self, message: Message) -> None:
        """Keep a new message: `committed` follows, or `failed`."""
        self._write(lambda database: database.add_message(message), message.id)

    def answer_progress(self, message_id: str, text: str, thinking: str = "") -> None:
        """Note an answer so far, as often as you like; it is written at most once a second."""
        write = Write(message_id, lambda database: database.flush_answer(message_id, text, thinking))
        self._worker.submit(Growing(write))

    def finish_answer(self, message: Message) -> None:
        """Keep the final state of an answer: `committed` follows, or `failed`."""
        self._write(lambda database: database.finish_answer(message), message.id)

    def add_figures(self, make: Callable[[], AnswerFigures]) -> None:
        """Keep the figures of an answer, made on the thread of the store; no chat waits for them."""
        self._write(lambda database: database.figures.add(make()))
        self.figures_changed.emit()

    def delete_figures(self) -> None:
        """Delete the figures of all answers for good."""
        self._write(lambda database: database.figures.clear())
        self.figures_changed.emit()

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
        if text:
            self._worker.submit(Growing(write))
        else:
            self._submit(write)

    def delete_chats(self, chat_ids: Sequence[str]) -> None:
        """Take chats out of the list; they can be restored for 30 days."""
        now_ms = _now_ms()
        self._write(lambda database: database.delete_chats(chat_ids, now_ms))

    def restore_chats(self, chat_ids: Sequence[str]) -> None:
        """Bring deleted chats back."""
        self._write(lambda database: database.restore_chats(chat_ids))

    def _write(self, run: Callable[[ChatDatabase], None], message_id: str = "") -> None:
        self._submit(Write(message_id, run))

    def _submit(self, write: Write) -> None:
        self.changes += 1
        self._worker.submit(write)

    def export(
        self,
        path: Path,
        write: Callable[[tuple[Conversation, ...]], str],
        unsaved: Sequence[Conversation] = (),
    ) -> None:
        """Write all chats to a file, as `write` puts them in words: `exported` follows, or `failed`.

        Those of them that are `unsaved` are written as they are in memory.
        """
        self._worker.submit(Read(lambda database: self._worker.export(database, path, write, unsaved)))

    def import_chats(self, path: Path, models: Container[str]) -> None:
        """Add the chats of a file that was exported as JSON: `imported` follows, or `failed`.

        Of the models that are set in it, only the names in `models` are taken.
        """
        self._worker.submit(Read(lambda database: self._worker.import_chats(database, path, models)))

    def read_history(self, choice: Choice) -> None:
        """Reduce the figures of the answers that are chosen: `history_read` follows, or `failed`."""
        self._worker.submit(Read(lambda database: self._worker.read_history(database, choice)))

    def export_history(self, path: Path, choice: Choice) -> None:
        """Write the figures of the answers that are chosen to a file: `history_exported` follows, or `failed`."""
        self._worker.submit(Read(lambda database: self._worker.export_history(database, path, choice)))

    def finish(self) -> None:
        """Have everything written that there is; no call may follow but `close`."""
        if self._end is None and self._worker.isRunning():
            self._worker.submit(Close())
            self._end = QDeadlineTimer(_END_MS)

    def close(self) -> None:
        """Wait until everything is written and the thread has ended, 2 s from `finish` on; none is needed before.

        All signals about what came before have been sent when it returns, unless it is `stuck`.
        """
        self.finish()
        if self._end is None or self.stuck or not self._worker.isRunning():
            return
        if not self._worker.wait(self._end):
            self.stuck = True
            _log.error("the disk does not answer; changes that are not saved: %d", self._worker.unwritten)
            return
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)
        self.closed.emit()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
