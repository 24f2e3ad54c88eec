"""Where new models go: what the window and the command share, chosen on another thread."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.services.tasks import TaskRunner, describe
from mtplx_engine.models.homes import Homes

if TYPE_CHECKING:
    from pathlib import Path


class ModelsFolder(QObject):
    """The folder that the user chose for what is fetched from now on.

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
        self._tasks = TaskRunner("models folder", self)

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
        if not self._tasks.busy:
            self._tasks.run(
                partial(self._homes.choose, folder), lambda _: self.changed.emit(), self._not_chosen
            )

    def close(self) -> None:
        """Hear of nothing any more. A second call does nothing."""
        self._tasks.abandon()

    def _not_chosen(self, error: BaseException) -> None:
        self.failed.emit(describe(error, "choosing the models folder")[0].message)
