"""Where a file is to be saved, and as which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtWidgets import QWidget


class SaveSheet(QFileDialog):
    """Asks for the name of a file; `fileSelected` says it, and the sheet goes by itself.

    Args:
        title: What is saved.
        name: What the file is called unless the person says otherwise.
        kinds: What the kinds of files are called, by suffix.
        suffix: The kind that is chosen.
        parent: Whose sheet.
    """

    def __init__(self, title: str, name: str, kinds: Mapping[str, str], suffix: str, parent: QWidget) -> None:
        super().__init__(parent, title, documents())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        suffixes = {f"{words} (*{suffix})": suffix for suffix, words in kinds.items()}
        self.setNameFilters(list(suffixes))
        self.filterSelected.connect(lambda words: self.setDefaultSuffix(suffixes[words]))
        self.selectNameFilter(f"{kinds[suffix]} (*{suffix})")
        self.setDefaultSuffix(suffix)
        self.selectFile(name)


def documents() -> str:
    """Return the folder where files of the person belong."""
    return QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
