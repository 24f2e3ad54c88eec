"""Where new models go: what the window and the command share, chosen on another thread."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.services.failure import describe
from mtplx_engine.models.homes import Homes

if TYPE_CHECKING:
    from pathlib import Path

_END_S = 0.3


class ModelsFolder(QObject):
    """The folder that the person chose for what is fetched from now on.

    Args:
        data_dir: The data folder.

    Signals:
        changed: New models go elsewhere now.
        failed(str): They cannot go where they were to, a sentence.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._homes = Homes(data_dir)
        self._task: Background | None = None

    @property
    def path(self) -> Path:
        """The folder."""
        return self._homes.current

    @property
    def is_usual(self) -> bool:
        """Whether it is the one in the data folder."""
        return self.path == self._homes.own

    @property
    def is_there(self) -> bool:
        """Whether it is connected."""
        return self._homes.is_there(self.path)

    @property
    def free_bytes(self) -> int | None:
        """How much room its disk has, None while that is not connected."""
        home = self.path
        if not self._homes.is_there(home):
            return None
        # Ours may not have been made yet.
        nearest = next(path for path in (home, *home.parents) if path.is_dir())
        try:
            return shutil.disk_usage(nearest).free
        except OSError:  # it went in between
            return None

    def choose(self, folder: Path | None) -> None:
        """Let new models go to a folder, None for the usual one: `changed` follows, or `failed`."""
        if self._task is None:
            self._task = Background("models folder", partial(self._homes.choose, folder), self)
            self._task.ended.connect(self._chosen)
            self._task.start()

    def close(self) -> None:
        """Hear of nothing any more. A second call does nothing."""
        if self._task is not None:
            self._task.abandon(_END_S)
            self._task = None

    def _chosen(self, outcome: object) -> None:
        self._task = None
        if isinstance(outcome, BaseException):
            self.failed.emit(describe(outcome, "choosing the models folder")[0].message)
        else:
            self.changed.emit()
