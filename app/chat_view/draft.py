"""Attach files, and keep unsent drafts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from app.chat.conversation import Attachment, clean_text
from app.i18n import tr
from app.services.file_reader import FileReader
from app.widgets.util import FileDrop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from app.chat.conversation import Conversation
    from app.chat_view.composer import Composer
    from app.session.session import ChatSession


MOST_FILES = 10
LONGEST_PASTE = 100_000  # characters; a field takes seconds to lay out some millions


class Attaching(QObject):
    """Reads what is offered and puts it over the message that is typed in the chat that it was offered in.

    Signals:
        read_elsewhere(str, Attachment): A file was read for the chat with this id, which is not shown.
        refused(str): Why files are not there, a line for each that was offered since the last quiet.
    """

    read_elsewhere = Signal(str, object)
    refused = Signal(str)

    def __init__(self, composer: Composer, area: QWidget, chat_id: str) -> None:
        super().__init__(area)
        self._composer = composer
        self._area = area
        self._refusals: list[str] = []
        self._readers: dict[
            str, FileReader
        ] = {}  # of the chats in which files were offered, and of the shown one
        self.show(chat_id)
        self._drop = FileDrop(area)
        self._drop.dropped.connect(self.add)
        composer.edit.files_offered.connect(self.add)
        composer.edit.longest_paste = LONGEST_PASTE
        composer.edit.long_text_offered.connect(self.add_text)
        composer.edit.image_offered.connect(self._refuse_image)
        composer.attach_requested.connect(self.pick)

    def pick(self) -> None:
        """Let the user choose files."""
        dialog = QFileDialog(self._area, tr("Attach Files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda names: self.add([Path(name) for name in names]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def add(self, paths: Sequence[Path]) -> None:
        """Read some files, as far as there is room for them."""
        self._begin()
        room = MOST_FILES - len(self._composer.chips.attachments)
        if len(paths) > room:
            self._refuse(too_many())
        self._reader.add(paths[: max(0, room)])

    def add_text(self, text: str) -> None:
        """Let a text that was pasted go with the message as a file."""
        if len(self._composer.chips.attachments) < MOST_FILES:
            self._read(self._chat_id, as_file(text))
        else:
            self._begin()
            self._refuse(too_many())

    def show(self, chat_id: str) -> None:
        """Take what is offered from now on for this chat."""
        self._chat_id = chat_id
        for idle in [key for key, reader in self._readers.items() if not reader.busy and key != chat_id]:
            self._readers.pop(idle).deleteLater()
        if chat_id not in self._readers:
            self._readers[chat_id] = reader = FileReader(self)
            reader.read.connect(partial(self._read, chat_id))
            reader.refused.connect(self._refuse)

    def close(self) -> None:
        """Read nothing more: the program ends."""
        for reader in self._readers.values():
            reader.close()

    @property
    def _reader(self) -> FileReader:
        return self._readers[self._chat_id]

    def _begin(self) -> None:
        """Forget what was refused before, unless files that were offered with it are still being read."""
        if not self._reader.busy:
            self._refusals.clear()

    def _refuse(self, sentence: str) -> None:
        self._refusals.append(sentence)
        self.refused.emit("\n".join(self._refusals))

    def _refuse_image(self) -> None:
        self._begin()
        self._refuse(tr("Images cannot be read; only text, code, CSV and PDF are."))

    def _read(self, chat_id: str, attachment: Attachment) -> None:
        if chat_id != self._chat_id:
            self.read_elsewhere.emit(chat_id, attachment)
            return
        self._composer.set_attachments((*self._composer.chips.attachments, attachment))


def as_file(text: str) -> Attachment:
    """Return a text that is too long for a field as a file."""
    text = clean_text(text)
    return Attachment(tr("Pasted text"), len(text.encode()), text)


def too_many() -> str:
    """Return what is said when there is no room for another file."""
    return tr("A message takes {count} files at most.").format(count=MOST_FILES)


_PAUSE_MS = 300  # a text of megabytes is not copied with every key


class DraftKeeper(QObject):
    """Puts the draft of the chat that is shown into the composer, and keeps it as it is typed."""

    def __init__(self, composer: Composer, session: ChatSession) -> None:
        super().__init__(composer)
        self._composer = composer
        self._session = session
        self._chat_id = ""
        self._showing = False
        self._drafts: dict[str, str] = {}  # of chats that were shown since the start
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.keep)
        composer.edit.textChanged.connect(self._changed)

    def show(self, conversation: Conversation) -> None:
        """Keep the draft of the chat that was shown, and show that of another one."""
        self.keep()
        self._drafts[self._chat_id] = self._composer.text()
        self._chat_id = conversation.chat.id
        self._showing = True  # what is kept already is not kept again
        self._composer.set_text(self._drafts.pop(self._chat_id, conversation.draft))
        self._showing = False

    def restore(self, text: str) -> None:
        """Show what was typed before the last end of the program, unless the user was faster."""
        if not self._session.shown.messages and not self._composer.text():
            self._composer.set_text(text)

    def keep(self) -> None:
        """Keep what is typed now, if anything has changed."""
        if self._pause.isActive():
            self._pause.stop()
            self._session.set_draft(self._chat_id, self._composer.text())

    def _changed(self) -> None:
        if self._showing:
            return
        if not self._pause.isActive():
            self._pause.start()
        if self._composer.edit.document().isEmpty():
            self.keep()  # what was sent must not come back
