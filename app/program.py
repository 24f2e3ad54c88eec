"""The program from its start to its exit code: one for each data folder, with the system's ways to end it."""

from __future__ import annotations

import logging
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app import qt_plugins
from app.application import Application
from app.main_window import MainWindow, quits_with_its_window
from app.quitting import QtProgram
from app.services.garbage import GarbageCollector
from app.services.log import log_qt, start_logging
from app.services.single_instance import SingleInstance
from app.services.unix_signals import UnixSignals
from app.theme import Theme
from app.translate import tr
from app.widgets.fault_sheet import FaultSheet
from app.widgets.message_box import MessageBox
from mtplx_engine import paths
from mtplx_engine.client import EngineClient

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QApplication


def run(data_dir: Path, log_dir: Path) -> int:
    """Run the program with a window; return the exit code."""
    start_logging(log_dir)
    qt_plugins.find()
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
    """Bring a closed window back when the program is chosen in the Dock."""
    if state == Qt.ApplicationState.ApplicationActive and not window.isVisible():
        window.show()


def _already_open(qt: QApplication) -> int:
    return _refuse(
        qt,
        tr("MTPLX is already open"),
        tr("It has this data folder in use, but does not answer. End it and try again."),
    )


def _cannot_write(qt: QApplication, data_dir: Path, error: OSError) -> int:
    words = tr("{folder}: {reason}. Make that folder writable, or choose another one with --data-dir.")
    more = words.format(folder=data_dir, reason=error.strerror or error)
    return _refuse(qt, tr("MTPLX cannot keep anything in its folder"), more)


def _refuse(qt: QApplication, sentence: str, more: str) -> int:
    """Say why there is no window, in the terminal and on the screen; return the exit code."""
    sys.stderr.write(f"{sentence}. {more}\n")
    sys.stderr.flush()
    Theme(qt)
    box = MessageBox(sentence, more)
    box.setWindowTitle(paths.APP_NAME)
    box.exec()
    return 1
