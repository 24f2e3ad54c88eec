"""Short-lived helper processes: self-check, starter set-up."""

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
    """What becomes of what a process writes to its standard error."""

    LOGGED = auto()
    DROPPED = auto()  # it may hold what is in a file
    MERGED = auto()  # it is read with the output


class Ending(Enum):
    """How a process ended."""

    EXITED = auto()
    NOT_STARTED = auto()
    OVERDUE = auto()  # it was killed when its time was up


@dataclass(frozen=True, slots=True)
class HelperEnd:
    """What is known of a process that ended.

    Attributes:
        how: Whether it ended by itself.
        code: Its exit code, for EXITED.
        output: What it wrote to its standard output, for EXITED.
    """

    how: Ending
    code: int = -1
    output: str = ""


class HelperProcess(QObject):
    """Runs a module isolated from the environment's Python settings, with nothing to read; one run at a time.

    Args:
        module: Its name.
        stderr: What becomes of its standard error.
        patience_ms: It is killed when it takes longer; None for no such end.

    Attributes:
        running: Whether a run has begun and not ended.

    Signals:
        printed(str): A whole line of its output, while it runs.
        ended(HelperEnd): It is over. Not sent after `close`.
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
        """Begin; `ended` follows."""
        self.running = True
        self._output = ""
        self._process.start(sys.executable, [*self._command, *arguments])
        if self._patience is not None:
            self._patience.start()

    def close(self) -> None:
        """End it; nothing is told then."""
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
    """Checks Metal, the keychain and what else an app needs, once.

    Signals:
        ended(tuple): The `Check` rows.
        unanswered(): It could not begin, or did not end in time, as while the keychain waits for the user.
    """

    ended = Signal(object)
    unanswered = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._process = HelperProcess(
            "mtplx_engine.doctor.bundle_child", Stderr.LOGGED, _CHECK_PATIENCE_MS, self
        )
        self._process.ended.connect(self._ended)

    def start(self) -> None:
        """Begin."""
        self._process.start(str(self._data_dir))

    def close(self) -> None:
        """End it; nothing is told then."""
        self._process.close()

    def _ended(self, end: HelperEnd) -> None:
        if end.how is Ending.EXITED:
            _log.info("self-check ended with %d", end.code)
            self.ended.emit(_rows(end.output, end.code))
        else:
            self.unanswered.emit()


class StarterSetup(QObject):
    """Sets the starter model up, as `make setup` does.

    Signals:
        progress(float, str): How much is done, 0..1, and what is being done.
        finished: The model is in place.
        failed(str): It is not; a sentence that says why, and what to do.
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
        """Begin, or begin again after a failure."""
        if not self._process.running:
            self._last_line = ""
            self._process.start("--data-dir", str(self._data_dir))

    def close(self) -> None:
        """End it; what it left half-done is cleared away by the next start."""
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
