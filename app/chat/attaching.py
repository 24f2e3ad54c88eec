"""The way of files into the composer: picked, dropped or pasted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from app.services.file_reader import FileReader
from app.translate import tr
from app.widgets.file_drop import FileDrop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from app.chat.composer import Composer
    from app.chat.conversation import Attachment

MOST_FILES = 10


class Attaching(QObject):
    """Reads what is offered and puts it over the message that is typed.

    Signals:
        refused(str): Why a file is not there.
    """

    refused = Signal(str)

    def __init__(self, composer: Composer, area: QWidget) -> None:
        super().__init__(area)
        self._composer = composer
        self._area = area
        self._reader = FileReader(self)
        self._reader.read.connect(self._read)
        self._reader.refused.connect(self.refused)
        self._drop = FileDrop(area)
        self._drop.dropped.connect(self.add)
        composer.edit.files_offered.connect(self.add)
        composer.edit.image_offered.connect(
            lambda: self.refused.emit(tr("Images cannot be read; only text, code, CSV and PDF are."))
        )
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
        room = MOST_FILES - len(self._composer.chips.attachments)
        if len(paths) > room:
            self.refused.emit(tr("A message takes {count} files at most.").format(count=MOST_FILES))
        self._reader.add(paths[: max(0, room)])

    def forget(self) -> None:
        """Read nothing more of what was offered: another chat is shown, or the program ends."""
        self._reader.close()

    def _read(self, attachment: Attachment) -> None:
        self._composer.set_attachments((*self._composer.chips.attachments, attachment))
