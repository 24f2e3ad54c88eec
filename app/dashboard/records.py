"""Kept measurements, live, with the power state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal

from app.i18n import tr
from app.services.tasks import TaskRunner, describe
from app.storage.errors import StoreError
from app.storage.export import write_measurement
from app.widgets.dialogs import SaveSheet
from mtplx_engine.measure.store import MeasurementStore, bans
from mtplx_engine.util import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtWidgets import QWidget

    from app.widgets.feedback import UndoToast
    from mtplx_engine.ipc.protocol import ModelInfo
    from mtplx_engine.measure.measurement import Measurement
    from mtplx_engine.util.system import SystemState


class SpeedRecords(QObject):
    """Reads measurements and lifts what they turned off; the engine keeps them.

    Args:
        data_dir: The data folder.

    Attributes:
        all: What was found last, the newest first; None before anything was looked for.

    Signals:
        changed: `all` is another now.
    """

    changed = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept = MeasurementStore(data_dir)
        self.all: tuple[Measurement, ...] | None = None
        self._tasks = TaskRunner("speed records", self)

    def refresh(self) -> None:
        """Look what there is: `changed` follows."""
        self._do(self._kept.all)

    def lift(self, measurements: Iterable[Measurement]) -> None:
        """Let models draft although these measurements found it slower: `changed` follows."""
        lifted = tuple(measurements)

        def lift() -> tuple[Measurement, ...]:
            for each in lifted:
                self._kept.lift(each)
            return self._kept.all()

        self._do(lift)

    def note(self, measurement: Measurement) -> None:
        """Take what the engine has just measured, and kept, without a look at the disk."""
        key, context = measurement.subject.key, measurement.context
        others = (each for each in self.all or () if (each.subject.key, each.context) != (key, context))
        self.all = (measurement, *others)
        self.changed.emit()

    def bans(self, key: str) -> tuple[Measurement, ...]:
        """Return those that turn drafting off under a `ModelInfo.speed_key`."""
        return bans(self.all or (), key)

    def close(self) -> None:
        """Hear nothing more."""
        self._tasks.abandon()

    def _do(self, work: Callable[[], tuple[Measurement, ...]]) -> None:
        self._tasks.run(work, self._show, self._not_read)

    def _show(self, found: tuple[Measurement, ...]) -> None:
        if found != self.all:
            self.all = found
            self.changed.emit()

    def _not_read(self, error: BaseException) -> None:
        describe(error, "speed records")
        self._show(self.all or ())


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


class SpeedOffer(QObject):
    """Waits until the main window is looked at, and says it there.

    Signals:
        accepted(str): The model in a folder is to be measured.
    """

    accepted = Signal(str)

    def __init__(self, window: QWidget, toast: UndoToast) -> None:
        super().__init__(window)
        self._window = window
        self._toast = toast
        self._model: ModelInfo | None = None
        window.installEventFilter(self)

    def offer(self, model: ModelInfo) -> None:
        """Offer to measure a model, if it drafts."""
        if model.max_depth:
            self._model = model
            self._say()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say what waits to be said, when the window comes to the front."""
        if event.type() == QEvent.Type.WindowActivate:
            self._say()
        return super().eventFilter(watched, event)

    def _say(self) -> None:
        model = self._model
        if model is None or not self._window.isActiveWindow():
            return
        self._model = None
        words = tr(
            "{model} is ready. How much faster is it here when it drafts? Measuring takes a minute or two."
        )
        self._toast.offer(
            words.format(model=model.name), tr("Measure"), lambda: self.accepted.emit(model.path)
        )


_INTERVAL_MS = 30_000  # a look starts programs of the system


class PowerWatch(QObject):
    """Looks at once when it is wanted, and every 30 seconds from then on, on another thread.

    Args:
        look: Returns the conditions of now, and may take a second.
        parent: Owns it.

    Attributes:
        conditions: Those of the last look; None before the first.

    Signals:
        changed: There are other conditions.
    """

    changed = Signal()

    def __init__(
        self, parent: QObject | None = None, *, look: Callable[[], SystemState] = system.system_state
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._tasks = TaskRunner("power", self, end_s=0.0)  # a look that hangs keeps nobody waiting
        self.conditions: SystemState | None = None
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._start)

    def want(self, *, on: bool) -> None:
        """Begin to look, or stop."""
        if on and not self._timer.isActive():
            self._timer.start()
            self._start()
        elif not on:
            self._timer.stop()
            self._tasks.abandon()

    def _start(self) -> None:
        if not self._tasks.busy:
            self._tasks.run(self._look, self._show, lambda _: self._show(None))

    def _show(self, found: SystemState | None) -> None:
        if found != self.conditions:
            self.conditions = found
            self.changed.emit()
