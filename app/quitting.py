"""The end of the program, which waits for a word of the person while chats are there that cannot be saved."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication

from app.main_window import quits_with_its_window
from app.translate import tr
from app.widgets.message_box import MessageBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.session import ChatSession
    from app.library.chat_files import ChatFiles
    from app.main_window import MainWindow

_log = logging.getLogger(__name__)


class QtProgram(QApplication):
    """The Qt application; asks `may_end` whenever it is to quit: by a menu, by the Dock, or with the session."""

    may_end: Callable[[], bool] | None = None

    def event(self, event: QEvent) -> bool:
        """Stay when the person has to be asked first."""
        if event.type() == QEvent.Type.Quit and self.may_end is not None and not self.may_end():
            event.ignore()
            return True
        return super().event(event)


class Quitting(QObject):
    """Says what would be lost before the program ends, and lets the person choose.

    Args:
        window: Whose sheet.
        session: Knows what is not saved.
        files: Exports it.

    Attributes:
        sheet: The question while it is asked; None otherwise.
    """

    def __init__(self, window: MainWindow, session: ChatSession, files: ChatFiles) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._files = files
        self._sure = False
        self.sheet: MessageBox | None = None
        if quits_with_its_window():
            window.installEventFilter(self)

    def may_end(self) -> bool:
        """Return whether nothing is lost that the person does not know of; ask if not."""
        if self._sure or not self._session.refused:
            return True
        if self.sheet is None:
            self._ask()
        self._window.come_forward()
        return False

    def end(self) -> None:
        """End the program without a question, because somebody else than the person wants it to."""
        lost = self._session.refused
        if lost:
            _log.error("ended with chats that could not be saved: %d", len(lost))
        self._end()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the window, where the program ends with it, until the person was asked."""
        if event.type() == QEvent.Type.Close and not self.may_end():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _end(self) -> None:
        self._sure = True
        QCoreApplication.quit()

    def _ask(self) -> None:
        count = len(self._session.refused)
        sentence = (
            tr("1 chat is not saved") if count == 1 else tr("{count} chats are not saved").format(count=count)
        )
        more = tr(
            "What is new there could not be written to the disk, and is lost when MTPLX quits. "
            "Export it to another place, or cancel and make room: MTPLX goes on trying."
        )
        self.sheet = sheet = MessageBox(sentence, more, self._window)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.setWindowModality(Qt.WindowModality.WindowModal)
        export = sheet.addButton(tr("Export…"), MessageBox.ButtonRole.ActionRole)
        leave = sheet.addButton(tr("Quit anyway"), MessageBox.ButtonRole.DestructiveRole)
        sheet.addButton(tr("Cancel"), MessageBox.ButtonRole.RejectRole)
        sheet.setDefaultButton(export)
        # Once the sheet has gone: what follows has a sheet of its own, or ends everything.
        export.clicked.connect(self._export, Qt.ConnectionType.QueuedConnection)
        leave.clicked.connect(self._end, Qt.ConnectionType.QueuedConnection)
        sheet.finished.connect(self._answered)
        sheet.show()

    def _export(self) -> None:
        self._files.export_chats(self._session.refused)

    def _answered(self) -> None:
        self.sheet = None
