"""Helper processes: a QProcess that runs one of our modules, the self-check and the set-up of the starter."""

from __future__ import annotations

import json
import logging
import re
import sys
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, Qt, QTimer, Signal

from app.i18n import tr
from mtplx_engine.doctor.environment import Check, CheckResult
from mtplx_engine.util import files

if TYPE_CHECKING:
    from pathlib import Path


_CHECK_PATIENCE_MS = 120_000  # a keychain may ask the user something
_END_MS = 500
_PROGRESS = re.compile(r"^(?P<phase>.*) \((?P<percent>\d+)%\)$")
_log = logging.getLogger(__name__)


class Stderr(Enum):
    """What happens with the standard error of a process."""

    LOGGED = auto()
    DROPPED = auto()  # it may quote a user's file
    MERGED = auto()  # read together with the output


class Ending(Enum):
    """How a process ended."""

    EXITED = auto()
    NOT_STARTED = auto()
    OVERDUE = auto()  # killed by the time limit


@dataclass(frozen=True, slots=True)
class HelperEnd:
    """The end of a process; exit `code` and standard `output` are only for EXITED."""

    how: Ending
    code: int = -1
    output: str = ""


class HelperProcess(QObject):
    """Runs a module with `python -I`, without standard input; one run at a time.

    Args:
        patience_ms: Time limit, after which it is killed; None for none.

    Signals:
        printed(str): A whole line of its output.
        ended(HelperEnd): It has ended; not sent after `close`.
    """

    printed = Signal(str)
    ended = Signal(object)

    def __init__(
        self, module: str, stderr: Stderr, patience_ms: int | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._module = module
        self._command = ["-I", "-m", module]
        self._logged = stderr is Stderr.LOGGED
        self._output = ""
        self.running = False
        self._process = QProcess(self)
        self._process.setStandardInputFile(QProcess.nullDevice())
        if stderr is Stderr.DROPPED:
            self._process.setStandardErrorFile(QProcess.nullDevice())
        elif stderr is Stderr.MERGED:
            self._process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        self._process.readyReadStandardOutput.connect(self._read_lines)
        self._process.finished.connect(self._finished)
        # Queued: within this signal the process cannot be started again.
        self._process.errorOccurred.connect(self._failed, Qt.ConnectionType.QueuedConnection)
        self._patience: QTimer | None = None
        if patience_ms is not None:
            self._patience = QTimer(self, singleShot=True, interval=patience_ms)
            self._patience.timeout.connect(self._give_up)

    def start(self, *arguments: str) -> None:
        """Start the process; `ended` follows."""
        self.running = True
        self._output = ""
        self._process.start(sys.executable, [*self._command, *arguments])
        if self._patience is not None:
            self._patience.start()

    def close(self) -> None:
        """Kill the process without a signal."""
        self.running = False
        if self._patience is not None:
            self._patience.stop()
        self._process.blockSignals(True)
        for end in (self._process.terminate, self._process.kill):
            if self._process.state() != QProcess.ProcessState.NotRunning:
                end()
                self._process.waitForFinished(_END_MS)
        self._process.blockSignals(False)

    def _give_up(self) -> None:
        _log.warning("%s took too long", self._module)
        self._end(HelperEnd(Ending.OVERDUE))

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self.running:  # any other is followed by an end
            _log.warning("%s: %s", self._module, self._process.errorString())
            self._end(HelperEnd(Ending.NOT_STARTED))

    def _finished(self, code: int) -> None:
        self._read_lines()
        self._output += _text(self._process.readAllStandardOutput().data())
        errors = _text(self._process.readAllStandardError().data()) if self._logged else ""
        if errors:
            _log.warning("%s: %s", self._module, errors[-2000:])
        self._end(HelperEnd(Ending.EXITED, code, self._output))

    def _read_lines(self) -> None:
        while self._process.canReadLine():
            line = _text(self._process.readLine().data())
            self._output += line
            self.printed.emit(line)

    def _end(self, end: HelperEnd) -> None:
        self.close()
        self.ended.emit(end)


class SelfCheck(QObject):
    """Checks Metal, the keychain and the other needs of the app.

    Signals:
        ended(tuple): The `Check` rows.
        unanswered(): It did not start, or not end in time, as while the keychain waits for the user.
    """

    ended = Signal(object)
    unanswered = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._process = HelperProcess("mtplx_engine.doctor.bundle_child", Stderr.LOGGED, _CHECK_PATIENCE_MS, self)
        self._process.ended.connect(self._ended)

    def start(self) -> None:
        self._process.start(str(self._data_dir))

    def close(self) -> None:
        """End the check without a signal."""
        self._process.close()

    def _ended(self, end: HelperEnd) -> None:
        if end.how is Ending.EXITED:
            _log.info("self-check ended with %d", end.code)
            self.ended.emit(_rows(end.output, end.code))
        else:
            self.unanswered.emit()


class StarterSetup(QObject):
    """Installs the starter model, as `make setup` does.

    Signals:
        progress(float, str): The share that is done, 0..1, and the current step.
        finished: The model is installed.
        failed(str): Why it is not, and what to do, as a sentence.
    """

    progress = Signal(float, str)
    finished = Signal()
    failed = Signal(str)

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._last_line = ""
        self._process = HelperProcess("mtplx_engine.models.starter", Stderr.MERGED, parent=self)
        self._process.printed.connect(self._read)
        self._process.ended.connect(self._ended)

    def start(self) -> None:
        """Start, or start again after a failure."""
        if not self._process.running:
            self._last_line = ""
            self._process.start("--data-dir", str(self._data_dir))

    def close(self) -> None:
        """End the set-up; the next start removes what it left unfinished."""
        self._process.close()

    def _read(self, line: str) -> None:
        match = _PROGRESS.match(line.strip())
        if match:
            self.progress.emit(int(match["percent"]) / 100, match["phase"])
        elif line.strip():
            self._last_line = line.strip()

    def _ended(self, end: HelperEnd) -> None:
        if end.code == 0:
            self.finished.emit()
        else:
            self.failed.emit(self._last_line or tr("The set-up ended unexpectedly. Trying again may help."))


def _text(data: bytes | bytearray | memoryview) -> str:
    return bytes(data).decode(errors="replace")


def _rows(output: str, code: int) -> tuple[Check, ...]:
    try:
        rows: tuple[Check, ...] = files.build(tuple[Check, ...], json.loads(output))
    except (ValueError, TypeError):
        sentence = tr(
            "The model library ended unexpectedly (code {code}). Restart this computer; if that does not help, "
            "download MTPLX again."
        )
        return (Check(tr("Model library"), CheckResult.FAILED, sentence.format(code=code)),)
    return rows
