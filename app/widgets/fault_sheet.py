"""What the person sees of a fault of ours: one calm sheet; the rest goes to the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.translate import tr
from app.widgets.message_box import MessageBox

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from PySide6.QtWidgets import QWidget

_log = logging.getLogger(__name__)


class FaultSheet:
    """Reports exceptions that nothing else caught; one sheet at a time, however many there are."""

    def __init__(self, window: QWidget, log_dir: Path) -> None:
        self._log_dir = log_dir
        self.sheet = MessageBox(
            tr("Something went wrong in this window."),
            tr("Your chats are saved. If it happens again, restart MTPLX."),
            window,
        )
        self.sheet.addButton(tr("Continue"), QMessageBox.ButtonRole.AcceptRole)
        logs = self.sheet.addButton(tr("Show Logs"), QMessageBox.ButtonRole.ActionRole)
        logs.clicked.connect(self._open_logs)

    def report(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Log an exception and show the sheet; fits `sys.excepthook`."""
        _log.error("fault in the window", exc_info=(kind, error, trace))
        if not self.sheet.isVisible():
            self.sheet.open()

    def _open_logs(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log_dir)))
