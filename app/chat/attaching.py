"""The way of files into the composer: picked, dropped or pasted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from app.chat.conversation import Attachment, clean_text
from app.services.file_reader import FileReader
from app.translate import tr
from app.widgets.file_drop import FileDrop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from app.chat.composer import Composer

MOST_FILES = 10
_LONGEST_PASTE = 100_000  # characters; a field takes seconds to lay out some millions


class Attaching(QObject):
    """Reads what is offered and puts it over the message that is typed.

    Signals:
        refused(str): Why files are not there, a line for each that was offered since the last quiet.
    """

    refused = Signal(str)

    def __init__(self, composer: Composer, area: QWidget) -> None:
        super().__init__(area)
        self._composer = composer
        self._area = area
        self._refusals: list[str] = []
        self._reader = FileReader(self)
        self._reader.read.connect(self._read)
        self._reader.refused.connect(self._refuse)
        self._drop = FileDrop(area)
        self._drop.dropped.connect(self.add)
        composer.edit.files_offered.connect(self.add)
        composer.edit.longest_paste = _LONGEST_PASTE
        composer.edit.long_text_offered.connect(self.add_text)
        composer.edit.image_offered.connect(self._refuse_image)
        composer.attach_requested.connect(self.pick)

    def pick(self) -> None:
        """Let the person choose files."""
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
            self._refuse(_too_many())
        self._reader.add(paths[: max(0, room)])

    def add_text(self, text: str) -> None:
        """Let a text that was pasted go with the message as a file."""
        if len(self._composer.chips.attachments) < MOST_FILES:
            text = clean_text(text)
            self._read(Attachment(tr("Pasted text"), len(text.encode()), text))
        else:
            self._begin()
            self._refuse(_too_many())

    def forget(self) -> None:
        """Read nothing more of what was offered: another chat is shown, or the program ends."""
        self._reader.close()

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

    def _read(self, attachment: Attachment) -> None:
        self._composer.set_attachments((*self._composer.chips.attachments, attachment))


def _too_many() -> str:
    return tr("A message takes {count} files at most.").format(count=MOST_FILES)
