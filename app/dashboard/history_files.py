"""What is done with a whole history: written to a file, or deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QMessageBox

from app.dashboard import history_words
from app.services.daily_backup import KEPT
from app.translate import tr
from app.widgets.message_box import MessageBox
from app.widgets.save_sheet import SaveSheet

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.services.history import Choice
    from app.services.store import Store


class HistoryFiles(QObject):
    """Asks with sheets of a page."""

    def __init__(self, store: Store, page: QWidget) -> None:
        super().__init__(page)
        self._store = store
        self._page = page

    def export(self, choice: Choice) -> SaveSheet:
        """Have the answers that are chosen written to a file, and return the sheet that asks for it."""
        kinds = {".csv": tr("Table for spreadsheets"), ".json": tr("JSON, for programs")}
        sheet = SaveSheet(tr("Export History"), tr("MTPLX history"), kinds, ".csv", self._page)
        sheet.fileSelected.connect(lambda path: self._store.export_history(Path(path), choice))
        sheet.open()
        return sheet

    def delete(self, count: int) -> MessageBox:
        """Have all figures deleted, and return the box that asks whether that is meant."""
        more = tr(
            "Your chats stay as they are. The figures cannot be brought back; only the last {count} daily copies of "
            "your chats still hold them."
        ).format(count=KEPT)
        question = tr("Delete the figures of {answers}?").format(answers=history_words.answers(count))
        box = MessageBox(question, more, self._page)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        delete = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(self._store.delete_figures)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.open()
        return box
