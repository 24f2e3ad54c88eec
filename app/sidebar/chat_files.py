"""Export and import of chats with file dialogs."""

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
    """Asks for files, has chats written and read, and reports the result.

    Signals:
        imported(tuple): All chats after an import, as `ChatSummary`.
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
        self._wanted = ""  # id of a chat being read for export
        store.chat_loaded.connect(self._loaded)
        store.exported.connect(self._exported)
        store.imported.connect(self._imported)
        store.failed.connect(self._offer_export)

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Set the installed models, name and title: imported chats may use these."""
        self._models = frozenset(name for name, _ in choices)

    def export_chat(self, chat_id: str) -> None:
        at_hand = self._session.at_hand(chat_id)
        if at_hand is not None:
            self.export_chats((at_hand,))
        else:
            self._wanted = chat_id
            self._store.load_chat(chat_id)

    def export_shown(self) -> None:
        """Export the shown chat as it is on the screen, saved or not."""
        self.export_chats((self._session.shown,))

    def export_all(self) -> None:
        dialog = self._save_dialog(tr("Export All Chats"), tr("MTPLX chats"), ".json")
        dialog.fileSelected.connect(lambda path: self._store.export(Path(path), _writer(path), self._session.unsaved))
        dialog.open()

    def import_chats(self) -> None:
        dialog = QFileDialog(self._window, tr("Import Chats"), documents())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(f"{_format_names()['.json']} (*.json)")
        dialog.fileSelected.connect(lambda path: self._store.import_chats(Path(path), self._models))
        dialog.open()

    def export_chats(self, chats: Sequence[Conversation]) -> None:
        """Export some chats to one file, as they are in memory."""
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
        text = tr("Exported {count} chats to {name}") if chats != 1 else tr("Exported the chat to {name}")
        self._toast.tell(text.format(count=chats, name=Path(path).name))

    def _imported(self, chats: tuple[ChatSummary, ...], number: int) -> None:
        self.imported.emit(chats)
        text = tr("Imported {count} chats") if number != 1 else tr("Imported 1 chat")
        self._toast.tell(text.format(count=number))

    def _offer_export(self, error: ErrorInfo, message_id: str) -> None:
        """Offer to export the shown chat where a message of it could not be saved."""
        messages = self._session.shown.messages
        if any(message.id == message_id for message in messages):
            is_told = any(message.error == error.message for message in messages)
            text = tr("This chat is not saved yet.") if is_told else error.message
            self._toast.offer(text, tr("Export…"), self.export_shown)

    def _save_dialog(self, title: str, name: str, suffix: str) -> SaveSheet:
        return SaveSheet(title, name, _format_names(), suffix, self._window)


def _writer(path: str) -> Callable[[Iterable[Conversation]], str]:
    return _WRITERS.get(Path(path).suffix.lower(), to_text)


def _format_names() -> dict[str, str]:
    return {
        ".md": tr("Markdown, to be read"),
        ".json": tr("JSON, to be imported again"),
        ".txt": tr("Plain text"),
    }
