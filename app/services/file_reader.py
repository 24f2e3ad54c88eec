"""Reads files for a message without waiting for them, in processes that can be ended."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from app.chat.bounds import clean_name
from app.chat.conversation import Attachment, clean_text
from app.services.file_text import LARGEST_FILE, LONGEST_TEXT, Refusal
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PATIENCE_MS = 30_000


class FileReader(QObject):
    """Turns paths into attachments, one after the other.

    Signals:
        read(Attachment): A file was read.
        refused(str): Why another one was not, in a sentence for the person.
    """

    read = Signal(object)
    refused = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Path] = []
        self._process: QProcess | None = None
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._kill)

    @property
    def busy(self) -> bool:
        """Whether files are being read."""
        return self._process is not None

    def add(self, paths: Sequence[Path]) -> None:
        """Read some more files."""
        self._waiting += paths
        self._next()

    def close(self) -> None:
        """Read nothing more."""
        self._waiting.clear()
        self._kill()

    def _next(self) -> None:
        if self._process is not None or not self._waiting:
            return
        path = self._waiting.pop(0)
        self._process = QProcess(self)
        self._process.setStandardInputFile(QProcess.nullDevice())
        self._process.setStandardErrorFile(QProcess.nullDevice())
        self._process.finished.connect(partial(self._finished, path))
        self._process.errorOccurred.connect(partial(self._not_started, path))
        self._process.start(sys.executable, ["-I", "-m", "app.services.file_text", str(path)])
        self._patience.start()

    def _finished(self, path: Path, *_: object) -> None:
        output = self._process.readAllStandardOutput().toStdString() if self._process else ""
        self._end()
        try:
            answer = json.loads(output)
        except ValueError:  # ended by the system, or by our patience
            answer = {"refused": Refusal.DAMAGED.value}
        if "text" in answer:
            self.read.emit(Attachment(clean_name(path.name), answer["size"], clean_text(answer["text"])))
        else:
            self.refused.emit(sentence(path.name, Refusal(answer["refused"])))
        self._next()

    def _not_started(self, path: Path, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._end()
            self.refused.emit(sentence(path.name, Refusal.MISSING))
            self._next()

    def _end(self) -> None:
        self._patience.stop()
        process, self._process = self._process, None
        if process:
            # Out of its parent's hands, which may end before its turn comes: it would end twice.
            process.setParent(None)
            process.deleteLater()

    def _kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.waitForFinished(1000)


def sentence(name: str, why: Refusal) -> str:
    """Say why a file was not taken."""
    words = {
        Refusal.MISSING: tr("{name} cannot be read; check that it is a file and that you may open it."),
        Refusal.EMPTY: tr("{name} is empty."),
        Refusal.LARGE: tr(
            "{name} is too large: at most {megabytes} MB and {characters} characters are read."
        ),
        Refusal.IMAGE: tr("{name} is an image; only text, code, CSV and PDF are read."),
        Refusal.BINARY: tr("{name} is no text; only text, code, CSV and PDF are read."),
        Refusal.LOCKED: tr("{name} is locked with a password; save a copy without one."),
        Refusal.SCANNED: tr("{name} holds pictures of text and no text; only text is read."),
        Refusal.DAMAGED: tr("{name} could not be read within its limits; it may be damaged."),
    }[why]
    return words.format(
        name=f"“{clean_name(name)}”", megabytes=LARGEST_FILE >> 20, characters=f"{LONGEST_TEXT:,}"
    )
