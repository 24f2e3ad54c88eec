"""Quitting the program: asks the user first where unsaved chats or unsent files would be lost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication

from app.i18n import tr
from app.main_window import quits_with_its_window
from app.storage.errors import counted
from app.widgets.dialogs import MessageBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.main_window import MainWindow
    from app.session.session import ChatSession
    from app.sidebar.chat_files import ChatFiles


_log = logging.getLogger(__name__)


class QtProgram(QApplication):
    """The Qt application; calls `may_end` whenever it is to quit: by a menu, the Dock, or the end of the session."""

    may_end: Callable[[], bool] | None = None

    def event(self, event: QEvent) -> bool:
        """Refuse to quit while the user has to be asked first."""
        if event.type() == QEvent.Type.Quit and self.may_end is not None and not self.may_end():
            event.ignore()
            return True
        return super().event(event)


class Quitting(QObject):
    """Asks before the program ends with something unsaved; `sheet` is None unless it asks."""

    def __init__(self, window: MainWindow, session: ChatSession, files: ChatFiles) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._files = files
        self._confirmed = False
        self.sheet: MessageBox | None = None
        if quits_with_its_window():
            window.installEventFilter(self)

    def may_end(self) -> bool:
        """Return whether nothing would be lost without the user's consent; ask for it if not."""
        if self._confirmed or not (self._session.refused or self._unsent_files):
            return True
        if self.sheet is None:
            self._ask()
        self._window.come_forward()
        return False

    def end(self) -> None:
        """End the program without asking, as for a Unix signal."""
        chats, files = len(self._session.refused), self._unsent_files
        if chats:
            _log.error("ended with chats that could not be saved: %d", chats)
        if files:
            _log.warning("ended with files that were not sent: %d", files)
        self._end()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Close and not self.may_end():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _end(self) -> None:
        self._confirmed = True
        QCoreApplication.quit()

    @property
    def _unsent_files(self) -> int:
        composing = self._window.pane.composing
        return composing.unsent_files if composing is not None else 0

    def _ask(self) -> None:
        chats, files = len(self._session.refused), self._unsent_files
        parts = [*([_about_chats(chats)] if chats else []), *([_about_files(files)] if files else [])]
        (sentence, more), *others = parts
        more = "\n\n".join([more, *(f"{what}. {about}" for what, about in others)])
        self.sheet = sheet = MessageBox(sentence, more, self._window)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.setWindowModality(Qt.WindowModality.WindowModal)
        default = cancel = sheet.addButton(tr("Cancel"), MessageBox.ButtonRole.RejectRole)
        # Queued until the sheet is gone: export shows another sheet, and quitting ends everything.
        if chats:
            default = sheet.addButton(tr("Export…"), MessageBox.ButtonRole.ActionRole)
            default.clicked.connect(self._export, Qt.ConnectionType.QueuedConnection)
        leave = sheet.addButton(tr("Quit anyway"), MessageBox.ButtonRole.DestructiveRole)
        sheet.setDefaultButton(default)
        sheet.setEscapeButton(cancel)
        leave.clicked.connect(self._end, Qt.ConnectionType.QueuedConnection)
        sheet.finished.connect(self._answered)
        sheet.show()

    def _export(self) -> None:
        self._files.export_chats(self._session.refused)

    def _answered(self) -> None:
        self.sheet = None


def _about_chats(count: int) -> tuple[str, str]:
    sentence = counted(count, tr("1 chat is not saved"), tr("{count} chats are not saved"))
    more = tr(
        "What is new there could not be written to the disk, and is lost when MTPLX quits. "
        "Export it to another place, or cancel and make room: MTPLX goes on trying."
    )
    return sentence, more


def _about_files(count: int) -> tuple[str, str]:
    sentence = counted(count, tr("1 file is not sent"), tr("{count} files are not sent"))
    return sentence, tr("What is attached to a message that was not sent is gone when MTPLX quits.")
