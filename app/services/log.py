"""The program's own log: rotating files in the log folder, without a word of any chat."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "app.log"
_BYTES, _KEPT = 1_000_000, 3
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# They write down addresses: what was searched for, and keys to files that are signed into them.
_TALKATIVE = ("httpx2", "httpcore2")
_qt_log = logging.getLogger("qt")


def start_logging(folder: Path) -> None:
    """Write what the program has to say to `folder`; on a disk that is full, to nowhere."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
            folder / _NAME, maxBytes=_BYTES, backupCount=_KEPT, encoding="utf-8"
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(lambda record: record.name.partition(".")[0] not in _TALKATIVE)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # A failed write must not print a traceback over the person's terminal.
    logging.raiseExceptions = False


def log_qt() -> None:
    """Write what Qt has to say there too.

    Not before there is a QApplication: what Qt says while it makes one is why it ends the process, and belongs on the
    terminal.
    """
    qInstallMessageHandler(_log_qt)


def _log_qt(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", message)
