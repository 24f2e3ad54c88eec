"""Runs the program: Qt plug-ins, log, garbage collection, error sheet of last resort, event loop."""

from __future__ import annotations

import gc
import logging
import os
import sys
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Final

import PySide6
from PySide6.QtCore import (
    QCoreApplication,
    QMessageLogContext,
    QObject,
    Qt,
    QTimer,
    QtMsgType,
    QUrl,
    qInstallMessageHandler,
)
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.application import Application
from app.i18n import tr
from app.main_window import MainWindow, quits_with_its_window
from app.quitting import QtProgram
from app.single_instance import SingleInstance, UnixSignals
from app.theme import Theme
from app.widgets.dialogs import MessageBox
from mtplx_engine import paths
from mtplx_engine.ipc.client import EngineClient

if TYPE_CHECKING:
    from types import TracebackType

    from PySide6.QtWidgets import QApplication, QWidget


def find_qt_plugins() -> None:
    """Tell Qt the folder of its plug-ins; call it before the application is made.

    PySide passes it in a settings line, where `,`, `;`, `"` and a backslash in the path are misread, and without its
    platform plug-in Qt ends the process.
    """
    folder = Path(PySide6.__file__).parent / "Qt" / "plugins"
    if folder.is_dir():  # a distribution's own Qt finds them elsewhere
        QCoreApplication.addLibraryPath(str(folder))


_LOG_NAME = "app.log"
_LOG_BYTES, _LOG_BACKUPS = 1_000_000, 3
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# They log addresses, which hold search terms and signed keys.
_NOT_LOGGED = ("httpx2", "httpcore2")
_qt_log = logging.getLogger("qt")


def start_logging(folder: Path) -> None:
    """Log to rotating files in `folder`; nowhere when they cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
            folder / _LOG_NAME, maxBytes=_LOG_BYTES, backupCount=_LOG_BACKUPS, encoding="utf-8"
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(lambda record: record.name.partition(".")[0] not in _NOT_LOGGED)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # A failed write must not print a traceback over the user's terminal.
    logging.raiseExceptions = False


def log_qt() -> None:
    """Log the messages of Qt too.

    Not before there is a QApplication: an error while it is made ends the process, and belongs on the terminal.
    """
    qInstallMessageHandler(_log_qt)


def _log_qt(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", message)


_COLLECT_MS: Final = 500


def collect_if_due() -> None:
    """Collect the garbage generation whose threshold is exceeded, as the interpreter would."""
    for generation in (2, 1, 0):
        if gc.get_count()[generation] > gc.get_threshold()[generation]:
            gc.collect(generation)
            return


class GarbageCollector(QObject):
    """Runs the cyclic collector from the event loop only, instead of at any allocation on any thread."""

    def __init__(self, parent: QCoreApplication) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_COLLECT_MS)
        self._timer.timeout.connect(collect_if_due)
        self._timer.start()

    def close(self) -> None:
        """Give collection back to the interpreter."""
        self._timer.stop()
        gc.enable()


_log = logging.getLogger(__name__)


class FaultSheet:
    """Logs uncaught exceptions and shows one sheet for them, however many there are."""

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


def run(data_dir: Path, log_dir: Path) -> int:
    start_logging(log_dir)
    find_qt_plugins()
    qt = QtProgram(sys.argv[:1])
    log_qt()
    qt.setApplicationName(paths.APP_NAME)
    qt.setQuitOnLastWindowClosed(quits_with_its_window())
    collector = GarbageCollector(qt)
    instance = SingleInstance(data_dir)
    try:
        first = instance.acquire()
    except OSError as error:
        return _cannot_write(qt, data_dir, error)
    if not first:
        return 0 if instance.raise_other() else _already_open(qt)
    program = Application(qt, data_dir, log_dir, partial(EngineClient, log_dir))
    qt.may_end = program.quitting.may_end
    sheet = FaultSheet(program.window, log_dir)
    sys.excepthook = sheet.report
    signals = UnixSignals()
    signals.end_requested.connect(program.quitting.end)
    instance.raise_requested.connect(program.window.come_forward)
    qt.applicationStateChanged.connect(partial(_reopen, program.window))
    program.window.menus.quit.triggered.connect(qt.quit)
    qt.aboutToQuit.connect(program.close)
    program.show()
    code = qt.exec()
    program.close()
    signals.close()
    instance.release()
    collector.close()
    if program.store.stuck:
        logging.shutdown()
        os._exit(code)  # the interpreter would wait for the disk, or crash
    return code


def _reopen(window: MainWindow, state: Qt.ApplicationState) -> None:
    if state == Qt.ApplicationState.ApplicationActive and not window.isVisible():
        window.show()


def _already_open(qt: QApplication) -> int:
    return _refuse(
        qt,
        tr("MTPLX is already open"),
        tr("It has this data folder in use, but does not answer. End it and try again."),
    )


def _cannot_write(qt: QApplication, data_dir: Path, error: OSError) -> int:
    text = tr("{folder}: {reason}. Make that folder writable, or choose another one with --data-dir.")
    more = text.format(folder=data_dir, reason=error.strerror or error)
    return _refuse(qt, tr("MTPLX cannot keep anything in its folder"), more)


def _refuse(qt: QApplication, sentence: str, more: str) -> int:
    """Tell in the terminal and on the screen why there is no window; return the exit code."""
    sys.stderr.write(f"{sentence}. {more}\n")
    sys.stderr.flush()
    Theme(qt)
    box = MessageBox(sentence, more)
    box.setWindowTitle(paths.APP_NAME)
    box.exec()
    return 1
