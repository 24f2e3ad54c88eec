"""The measurements that are kept, as the window sees them: calls that never wait, and signals on the main thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.tasks import TaskRunner, describe
from mtplx_engine.measurements import Measurements, bans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mtplx_engine.measurement import Measurement


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
        self._kept = Measurements(data_dir)
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
