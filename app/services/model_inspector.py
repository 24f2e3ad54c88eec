"""What the files of installed models say of them: calls that never wait, and answers on the main thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.services.failure import describe

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.inspection import Inspection

_END_S = 0.9


class ModelInspector(QObject):
    """Inspects folders, one at a time.

    Args:
        data_dir: The data folder.

    Signals:
        inspected(Path, Inspection): A folder, and what is known of its model.
    """

    inspected = Signal(object, object)

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._waiting: list[Path] = []
        self._task: Background | None = None

    def inspect(self, folders: tuple[Path, ...]) -> None:
        """Inspect these folders, in place of those that were still to be: `inspected` follows for each sound one."""
        self._waiting = list(folders)
        self._go_on()

    def close(self) -> None:
        """Hear of nothing any more, within a second. A second call does nothing."""
        self._waiting.clear()
        if self._task is not None:
            self._task.abandon(_END_S)
            self._task = None

    def _go_on(self) -> None:
        if self._task is None and self._waiting:
            folder = self._waiting.pop(0)
            self._task = Background("inspection", partial(self._look, folder), self)
            self._task.ended.connect(partial(self._done, folder))
            self._task.start()

    def _look(self, folder: Path) -> Inspection:
        # Here, since the start of the program needs none of it.
        from mtplx_engine.models import inspection
        from mtplx_engine.models.probe_memory import ProbeMemory

        return inspection.inspect(folder, ProbeMemory(self._data_dir))

    def _done(self, folder: Path, outcome: object) -> None:
        self._task = None
        if isinstance(outcome, BaseException):
            describe(outcome, f"inspection of {folder.name}")
        else:
            self.inspected.emit(folder, outcome)
        self._go_on()
