"""Reads attached files in helper processes, and tells the user why one was refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import Attachment, clean_text
from app.chat.validation import clean_name
from app.i18n import tr
from app.services.file_text import LARGEST_FILE, LONGEST_TEXT, Refusal
from app.services.helper_process import Ending, HelperEnd, HelperProcess, Stderr

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_PATIENCE_MS = 30_000


class FileReader(QObject):
    """Turns paths into attachments, one file at a time.

    `read` has an `Attachment`, and `refused` the reason as a sentence for the user.
    """

    read = Signal(object)
    refused = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Path] = []  # the first one is being read
        self._process = HelperProcess("app.services.file_text", Stderr.DROPPED, _PATIENCE_MS, self)
        self._process.ended.connect(self._ended)

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def add(self, paths: Sequence[Path]) -> None:
        self._waiting += paths
        self._next()

    def close(self) -> None:
        self._waiting.clear()
        self._process.close()

    def _next(self) -> None:
        if self._waiting and not self._process.running:
            self._process.start(str(self._waiting[0]))

    def _ended(self, end: HelperEnd) -> None:
        path = self._waiting.pop(0)
        answer = _answer(end)
        if "text" in answer:
            self.read.emit(Attachment(clean_name(path.name), answer["size"], clean_text(answer["text"])))
        else:
            self.refused.emit(sentence(path.name, Refusal(answer["refused"])))
        self._next()


def _answer(end: HelperEnd) -> dict[str, Any]:
    """Return the JSON of the process; one that was killed, by us or by the system, wrote none."""
    if end.how is Ending.NOT_STARTED:
        return {"refused": Refusal.MISSING.value}
    try:
        answer: dict[str, Any] = json.loads(end.output)
    except ValueError:
        return {"refused": Refusal.DAMAGED.value}
    return answer


def sentence(name: str, why: Refusal) -> str:
    """Return why a file was refused, for the user."""
    text = {
        Refusal.MISSING: tr("{name} cannot be read; check that it is a file and that you may open it."),
        Refusal.EMPTY: tr("{name} is empty."),
        Refusal.LARGE: tr("{name} is too large: at most {megabytes} MB and {characters} characters are read."),
        Refusal.IMAGE: tr("{name} is an image; only text, code, CSV and PDF are read."),
        Refusal.BINARY: tr("{name} is no text; only text, code, CSV and PDF are read."),
        Refusal.LOCKED: tr("{name} is locked with a password; save a copy without one."),
        Refusal.SCANNED: tr("{name} holds pictures of text and no text; only text is read."),
        Refusal.DAMAGED: tr("{name} could not be read within its limits; it may be damaged."),
    }[why]
    return text.format(name=f"“{clean_name(name)}”", megabytes=LARGEST_FILE >> 20, characters=f"{LONGEST_TEXT:,}")
