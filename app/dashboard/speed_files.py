"""Measurements written to files, wherever the person wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.export import write_measurement
from app.services.store_error import StoreError
from app.services.tasks import TaskRunner, describe
from app.translate import tr
from app.widgets.save_sheet import SaveSheet

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mtplx_engine.measurement import Measurement


class SpeedFiles(QObject):
    """Asks with sheets of a page, and writes on another thread.

    Signals:
        told(str): What came of it, a sentence.
    """

    told = Signal(str)

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._tasks = TaskRunner("export", self)

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
        written = tr("Exported the measurement to {name}").format(name=path.name)
        self._tasks.run(
            lambda: write_measurement(path, measurement),
            lambda _: self.told.emit(written),
            self._tell_failure,
        )

    def close(self) -> None:
        """Hear nothing more."""
        self._tasks.abandon()

    def _tell_failure(self, error: BaseException) -> None:
        info = error.info if isinstance(error, StoreError) else describe(error, "export")[0]
        self.told.emit(info.message)
