"""Sets the starter model up in a process of its own, for a window that must not wait."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, Signal

from app.translate import tr

if TYPE_CHECKING:
    from pathlib import Path

_PROGRESS = re.compile(r"^(?P<phase>.*) \((?P<percent>\d+)%\)$")
_END_MS = 500


class StarterSetup(QObject):
    """Runs the same set-up as `make setup` does.

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
        self._last_line = ""
        self._process = QProcess(self)
        self._process.setProgram(sys.executable)
        self._process.setArguments(["-I", "-m", "mtplx_engine.models.starter", "--data-dir", str(data_dir)])
        self._process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._ended)

    @property
    def running(self) -> bool:
        """Whether the set-up is going on."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    def start(self) -> None:
        """Begin, or begin again after a failure."""
        if not self.running:
            self._last_line = ""
            self._process.start()

    def close(self) -> None:
        """End it; what it left half-done is cleared away by the next start."""
        if self.running:
            self._process.finished.disconnect(self._ended)
            self._process.terminate()
            if not self._process.waitForFinished(_END_MS):
                self._process.kill()
                self._process.waitForFinished(_END_MS)

    def _read(self) -> None:
        while self._process.canReadLine():
            line = bytes(self._process.readLine().data()).decode(errors="replace").strip()
            match = _PROGRESS.match(line)
            if match:
                self.progress.emit(int(match["percent"]) / 100, match["phase"])
            elif line:
                self._last_line = line

    def _ended(self, code: int) -> None:
        self._read()
        if code == 0:
            self.finished.emit()
        else:
            self.failed.emit(self._last_line or tr("The set-up ended unexpectedly. Trying again may help."))
