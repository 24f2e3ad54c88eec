"""Chats written to files and read from them, wherever the person wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from app.chat.formats import file_name, to_json, to_markdown, to_text
from app.i18n import tr
from app.storage.errors import StoreError
from app.storage.export import write_chats
from app.widgets.dialogs import SaveSheet, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from PySide6.QtWidgets import QWidget

    from app.chat.conversation import ChatSummary, Conversation
    from app.session.session import ChatSession
    from app.storage.store import Store
    from app.widgets.feedback import UndoToast
    from mtplx_engine.errors import ErrorInfo


_WRITERS: Final[dict[str, Callable[[Iterable[Conversation]], str]]] = {
    ".md": to_markdown,
    ".json": to_json,
    ".txt": to_text,
}


class ChatFiles(QObject):
    """Asks for files with sheets of the window, and says what came of it.

    Args:
        window: Whose sheets.
        toast: Says what came of it.
        store: Reads and writes the chats.
        session: Has the chat that is shown.

    Signals:
        imported(tuple): These chats, `ChatSummary`, are in the store now.
        notice(str): Why a chat was not exported.
    """

    imported = Signal(tuple)
    notice = Signal(str)

    def __init__(self, window: QWidget, toast: UndoToast, store: Store, session: ChatSession) -> None:
        super().__init__(window)
        self._window = window
        self._toast = toast
        self._store = store
        self._session = session
        self._models: frozenset[str] = frozenset()
        self._wanted = ""  # a chat that is being read to be exported
        store.chat_loaded.connect(self._loaded)
        store.exported.connect(self._exported)
        store.imported.connect(self._imported)
        store.failed.connect(self._not_saved)

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Take note which models there are, by name and title: imported chats may be set to those."""
        self._models = frozenset(name for name, _ in choices)

    def export_chat(self, chat_id: str) -> None:
        """Have a chat written to a file."""
        at_hand = self._session.at_hand(chat_id)
        if at_hand is not None:
            self.export_chats((at_hand,))
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)

    def export_shown(self) -> None:
        """Have the chat that is shown written to a file: as it is on the screen, saved or not."""
        self.export_chats((self._session.shown,))

    def export_all(self) -> None:
        """Have all chats written to a file."""
        dialog = self._save_dialog(tr("Export All Chats"), tr("MTPLX chats"), ".json")
        dialog.fileSelected.connect(
            lambda path: self._store.export(Path(path), _writer(path), self._session.unsaved)
        )
        dialog.open()

    def import_chats(self) -> None:
        """Have chats read from a file that was exported as JSON."""
        dialog = QFileDialog(self._window, tr("Import Chats"), documents())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(f"{_kinds()['.json']} (*.json)")
        dialog.fileSelected.connect(self._import)
        dialog.open()

    def _import(self, path: str) -> None:
        self._store.import_chats(Path(path), self._models)

    def export_chats(self, chats: Sequence[Conversation]) -> None:
        """Have some chats written to one file, as they are in memory."""
        if len(chats) == 1:
            dialog = self._save_dialog(tr("Export Chat"), file_name(chats[0].chat.title), ".md")
        else:
            dialog = self._save_dialog(tr("Export Chats"), tr("MTPLX chats"), ".json")
        dialog.fileSelected.connect(lambda path: self._write(Path(path), chats))
        dialog.open()

    def _write(self, path: Path, chats: Sequence[Conversation]) -> None:
        try:
            write_chats(path, _writer(str(path))(chats))
        except StoreError as error:
            self.notice.emit(error.info.message)
        else:
            self._exported(str(path), len(chats))

    def _loaded(self, conversation: Conversation, _damage: str) -> None:
        if conversation.chat.id == self._wanted:
            self._wanted = ""
            self.export_chats((conversation,))

    def _exported(self, path: str, chats: int) -> None:
        words = tr("Exported {count} chats to {name}") if chats != 1 else tr("Exported the chat to {name}")
        self._toast.tell(words.format(count=chats, name=Path(path).name))

    def _imported(self, chats: tuple[ChatSummary, ...], number: int) -> None:
        self.imported.emit(chats)
        words = tr("Imported {count} chats") if number != 1 else tr("Imported 1 chat")
        self._toast.tell(words.format(count=number))

    def _not_saved(self, error: ErrorInfo, message_id: str) -> None:
        """Offer a way out for what is on the screen only."""
        messages = self._session.shown.messages
        if any(message.id == message_id for message in messages):
            is_told = any(message.error == error.message for message in messages)
            words = tr("This chat is not saved yet.") if is_told else error.message
            self._toast.offer(words, tr("Export…"), self.export_shown)

    def _save_dialog(self, title: str, name: str, suffix: str) -> SaveSheet:
        return SaveSheet(title, name, _kinds(), suffix, self._window)


def _writer(path: str) -> Callable[[Iterable[Conversation]], str]:
    return _WRITERS.get(Path(path).suffix.lower(), to_text)


def _kinds() -> dict[str, str]:
    """Return what the file sheets call the kinds of files, by suffix."""
    return {
        ".md": tr("Markdown, to be read"),
        ".json": tr("JSON, to be imported again"),
        ".txt": tr("Plain text"),
    }
