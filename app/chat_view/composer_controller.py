"""Connects the composer with the session: attached files, kept drafts, messages on their way."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from app.chat_view.attachments import LONGEST_PASTE, MAX_FILES, FileDrop, as_file, too_many
from app.chat_view.send_guard import SendGuard
from app.i18n import tr
from app.services.file_reader import FileReader
from app.session.context_meter import UnsentMessage
from app.theme import COLUMN_WIDTH
from app.widgets.cards import ChoiceCard
from app.widgets.feedback import announce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QHBoxLayout, QWidget

    from app.chat.conversation import Attachment, Conversation
    from app.chat_view.composer import Composer
    from app.chat_view.send_guard import Choice
    from app.session.actions import ChatActions
    from app.session.context_meter import ContextMeter
    from app.session.session import ChatSession
    from app.theme import Theme


class ComposerController(QObject):
    """Connects the composer of a window to the session.

    Args:
        slot: Row above the composer for a card, at index 1.
        area: Widget on which files may be dropped.

    Attributes:
        card: Why a message or file was refused, with the ways out; None when nothing was.

    Signals:
        shorten(str): The message with this id is to be shortened.
        told(str): The card explains the error of the answer with this id, "" for none.
    """

    shorten = Signal(str)
    told = Signal(str)

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        actions: ChatActions,
        meter: ContextMeter,
        composer: Composer,
        *,
        slot: QHBoxLayout,
        area: QWidget,
    ) -> None:
        super().__init__(area)
        self._theme = theme
        self._session = session
        self._composer = composer
        self._slot = slot
        self._area = area
        self._chat_id = session.chat_id
        self._files: dict[str, tuple[Attachment, ...]] = {}  # unsent, by the id of a chat that is not shown
        self.card: ChoiceCard | None = None
        self._blocked = False  # whether the card is about a message that does not fit
        self.outgoing = SendGuard(session, actions, meter, self)
        self._attaching = FileAttacher(composer, area, self._chat_id)
        composer.submitted.connect(self.outgoing.submit)
        composer.draft_changed.connect(meter.touch)
        composer.draft_changed.connect(self._draft_changed)
        meter.follow(lambda: UnsentMessage(composer.text(), composer.chips.attachments))
        meter.changed.connect(composer.set_use)
        session.opened.connect(self._opened)
        self._attaching.refused.connect(self._refuse)
        self._attaching.read_elsewhere.connect(self._keep_file)
        self.outgoing.waiting.connect(composer.edit.setReadOnly)
        self.outgoing.sent.connect(self._sent)
        self.outgoing.blocked.connect(self._block)
        self.outgoing.unblocked.connect(self._drop_card)
        self.outgoing.shorten.connect(self._shorten)

    @property
    def unsent_files(self) -> int:
        """Number of files that wait to be sent in all chats; they are in memory only."""
        return len(self._composer.chips.attachments) + sum(map(len, self._files.values()))

    def close(self) -> None:
        self._attaching.close()

    def _draft_changed(self) -> None:
        if self._blocked:
            self._drop_card()

    def _block(self, sentence: str, choices: Sequence[Choice], answer_id: str) -> None:
        self._show_card(sentence, choices)
        self._blocked = True
        self.told.emit(answer_id)

    def _sent(self) -> None:
        self._composer.set_text("")
        self._composer.set_attachments(())

    def _opened(self, conversation: Conversation) -> None:
        """Swap the unsent files with those of the chat that is shown now."""
        if conversation.chat.id == self._chat_id:
            return
        self._drop_card()
        self._files[self._chat_id] = self._composer.chips.attachments
        self._chat_id = conversation.chat.id
        self._attaching.show(self._chat_id)
        self._composer.set_attachments(self._files.pop(self._chat_id, ()))

    def _keep_file(self, chat_id: str, attachment: Attachment) -> None:
        self._files[chat_id] = (*self._files.get(chat_id, ()), attachment)

    def _refuse(self, sentence: str) -> None:
        self._show_card(sentence, ((tr("OK"), self._drop_card),))

    def _show_card(self, sentence: str, choices: Sequence[Choice]) -> None:
        self._drop_card()
        self.card = ChoiceCard(self._theme, sentence, choices, self._area)
        self.card.setMaximumWidth(COLUMN_WIDTH)
        self._slot.insertWidget(1, self.card, 1000)
        self.card.show()
        announce(self.card, sentence)

    def _drop_card(self) -> None:
        self._blocked = False
        if self.card is not None:
            self._slot.removeWidget(self.card)
            self.card.hide()
            self.card.deleteLater()
            self.card = None
            self.told.emit("")

    def _shorten(self, message_id: str) -> None:
        if message_id:
            self.shorten.emit(message_id)
        else:
            self._composer.setFocus()


class FileAttacher(QObject):
    """Reads files that are dropped, pasted or picked, and attaches them to the draft of their chat.

    Signals:
        read_elsewhere(str, Attachment): A file was read for the chat with this id, which is no longer shown.
        refused(str): Why files were refused, a line for each since nothing was being read.
    """

    read_elsewhere = Signal(str, object)
    refused = Signal(str)

    def __init__(self, composer: Composer, area: QWidget, chat_id: str) -> None:
        super().__init__(area)
        self._composer = composer
        self._area = area
        self._refusals: list[str] = []
        # By chat: those in which files are being read, and the one that is shown.
        self._readers: dict[str, FileReader] = {}
        self.show(chat_id)
        self._drop = FileDrop(area)
        self._drop.dropped.connect(self.add)
        composer.edit.files_offered.connect(self.add)
        composer.edit.longest_paste = LONGEST_PASTE
        composer.edit.long_text_offered.connect(self.add_text)
        composer.edit.image_offered.connect(self._refuse_image)
        composer.attach_requested.connect(self.pick)

    def pick(self) -> None:
        dialog = QFileDialog(self._area, tr("Attach Files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda names: self.add([Path(name) for name in names]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def add(self, paths: Sequence[Path]) -> None:
        """Read files, up to the limit of a message."""
        self._begin()
        room = MAX_FILES - len(self._composer.chips.attachments)
        if len(paths) > room:
            self._refuse(too_many())
        self._reader.add(paths[: max(0, room)])

    def add_text(self, text: str) -> None:
        if len(self._composer.chips.attachments) < MAX_FILES:
            self._read(self._chat_id, as_file(text))
        else:
            self._begin()
            self._refuse(too_many())

    def show(self, chat_id: str) -> None:
        """Attach files to this chat from now on."""
        self._chat_id = chat_id
        for idle in [key for key, reader in self._readers.items() if not reader.busy and key != chat_id]:
            self._readers.pop(idle).deleteLater()
        if chat_id not in self._readers:
            self._readers[chat_id] = reader = FileReader(self)
            reader.read.connect(partial(self._read, chat_id))
            reader.refused.connect(self._refuse)

    def close(self) -> None:
        """Stop reading files: the program ends."""
        for reader in self._readers.values():
            reader.close()

    @property
    def _reader(self) -> FileReader:
        return self._readers[self._chat_id]

    def _begin(self) -> None:
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


_PAUSE_MS = 300  # a text of megabytes is not stored with every key


class DraftKeeper(QObject):
    """Shows the draft of the current chat in the composer, and stores it while it is typed."""

    def __init__(self, composer: Composer, session: ChatSession) -> None:
        super().__init__(composer)
        self._composer = composer
        self._session = session
        self._chat_id = ""
        self._showing = False
        self._unsaved = False  # a flag, since a timer is not active any more in its own timeout
        self._drafts: dict[str, str] = {}  # by chat, of those that were shown since the start
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.keep)
        composer.edit.textChanged.connect(self._changed)

    def show(self, conversation: Conversation) -> None:
        """Store the draft of the chat that was shown, and show that of another one."""
        self.keep()
        self._drafts[self._chat_id] = self._composer.text()
        self._chat_id = conversation.chat.id
        self._showing = True  # a stored draft is not stored again
        self._composer.set_text(self._drafts.pop(self._chat_id, conversation.draft))
        self._showing = False

    def restore(self, text: str) -> None:
        """Show the draft of the last run of the program, unless the user has typed already."""
        if not self._session.shown.messages and not self._composer.text():
            self._composer.set_text(text)

    def keep(self) -> None:
        """Store the draft now, if it has changed."""
        self._pause.stop()
        if self._unsaved:
            self._unsaved = False
            self._session.set_draft(self._chat_id, self._composer.text())

    def _changed(self) -> None:
        if self._showing:
            return
        self._unsaved = True
        if not self._pause.isActive():
            self._pause.start()
        if self._composer.edit.document().isEmpty():
            self.keep()  # a message that was sent must not come back as a draft
