"""Looks at Metal, the keychain and what else an app needs, in a process of its own."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from app.translate import tr
from mtplx_engine import json_store
from mtplx_engine.doctor.check import Check, Verdict

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE_MS = 120_000  # a keychain may ask the person something
_END_MS = 500
_log = logging.getLogger(__name__)


class SelfCheck(QObject):
    """Runs `mtplx_engine.doctor.bundle_child` once.

    Args:
        data_dir: The data folder.

    Signals:
        ended(tuple): The `Check` rows.
        unanswered(): It could not begin, or did not end in time, as while the keychain waits for the person.
    """

    ended = Signal(object)
    unanswered = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process = QProcess(self)
        self._process.setProgram(sys.executable)
        self._process.setArguments(["-I", "-m", "mtplx_engine.doctor.bundle_child", str(data_dir)])
        self._process.setStandardInputFile(QProcess.nullDevice())
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._failed)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)

    def start(self) -> None:
        """Begin."""
        self._process.start()
        self._patience.start()

    def close(self) -> None:
        """End it; nothing is told then."""
        self._patience.stop()
        self._process.blockSignals(True)
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(_END_MS)

    def _give_up(self) -> None:
        _log.warning("self-check took longer than %d s", _PATIENCE_MS // 1000)
        self.close()
        self.unanswered.emit()

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:  # any other is followed by an end
            _log.warning("self-check: %s", self._process.errorString())
            self.close()
            self.unanswered.emit()

    def _finished(self, code: int) -> None:
        self._patience.stop()
        _log.info("self-check ended with %d", code)
        words = self._process.readAllStandardError().toStdString()
        if words:
            _log.warning("self-check: %s", words[-2000:])
        self.ended.emit(_rows(self._process.readAllStandardOutput().toStdString(), code))


def _rows(output: str, code: int) -> tuple[Check, ...]:
    try:
        rows: tuple[Check, ...] = json_store.build(tuple[Check, ...], json.loads(output))
    except (ValueError, TypeError):
        sentence = tr(
            "The model library ended unexpectedly (code {code}). Restart this computer; if that does not help, "
            "download MTPLX again."
        )
        return (Check(tr("Model library"), Verdict.FAILED, sentence.format(code=code)),)
    return rows
