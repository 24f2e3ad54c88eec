"""Measurements written to files, wherever the person wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.services.export import write_measurement
from app.services.failure import describe
from app.services.store_error import StoreError
from app.translate import tr
from app.widgets.save_sheet import SaveSheet

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mtplx_engine.measurement import Measurement

_END_S = 0.3


class SpeedFiles(QObject):
    """Asks with sheets of a page, and writes on another thread.

    Signals:
        told(str): What came of it, a sentence.
    """

    told = Signal(str)

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._tasks: set[Background] = set()

    def export(self, measurement: Measurement) -> SaveSheet:
        """Have a measurement written to a file, and return the sheet that asks for it."""
        kinds = {".json": tr("JSON, for programs"), ".csv": tr("Table for spreadsheets")}
        name = tr("Speed of {model}").format(model=measurement.subject.model).replace("/", "-")
        sheet = SaveSheet(tr("Export Measurement"), name, kinds, ".json", self._page)
        sheet.fileSelected.connect(lambda path: self.write(Path(path), measurement))
        sheet.open()
        return sheet

    def write(self, path: Path, measurement: Measurement) -> None:
        """Write a measurement: `told` follows."""
        task = Background("export", lambda: write_measurement(path, measurement), self)
        self._tasks.add(task)
        task.ended.connect(lambda outcome: self._tell(task, path, outcome))
        task.start()

    def close(self) -> None:
        """Hear nothing more."""
        for task in self._tasks:
            task.abandon(_END_S)
        self._tasks.clear()

    def _tell(self, task: Background, path: Path, outcome: object) -> None:
        self._tasks.discard(task)
        if isinstance(outcome, StoreError):
            self.told.emit(outcome.info.message)
        elif isinstance(outcome, BaseException):
            self.told.emit(describe(outcome, "export")[0].message)
        else:
            self.told.emit(tr("Exported the measurement to {name}").format(name=path.name))
