"""The downloads: how their rows look, and what is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.model_manager import download_faces
from app.model_manager.face import Action
from app.services.download_row import DownloadState

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.model_manager.face import Face
    from app.services.download_row import DownloadRow
    from app.services.downloads import Downloads
    from mtplx_engine.hub.problem import Problem


class Fetching(QObject):
    """Follows the downloads.

    Attributes:
        rows: They, by id.

    Signals:
        changed: Rows look different now.
        removed(str): A download is on the list no more.
        installed(DownloadRow): A download is over.
    """

    changed = Signal()
    removed = Signal(str)
    installed = Signal(object)

    def __init__(self, downloads: Downloads, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._downloads = downloads
        self.rows: dict[str, DownloadRow] = {row.id: row for row in downloads.rows()}
        downloads.changed.connect(self._changed)
        downloads.removed.connect(self._removed)
        downloads.installed.connect(lambda download: self.installed.emit(self.rows[download]))

    @property
    def faces(self) -> tuple[Face, ...]:
        """The downloads, as they stand in the queue."""
        return download_faces.faces(self.rows.values())

    @property
    def halted(self) -> tuple[DownloadRow, ...]:
        """Those that go on only when they are told to."""
        states = (DownloadState.PAUSED, DownloadState.FAILED)
        return tuple(row for row in self.rows.values() if row.state in states)

    @property
    def done(self) -> tuple[DownloadRow, ...]:
        """Those that are over."""
        return tuple(row for row in self.rows.values() if row.state is DownloadState.DONE)

    def act(self, download: str, action: Action) -> None:
        """Do something about a download."""
        match action:
            case Action.PAUSE:
                self._downloads.pause(download)
            case Action.RESUME | Action.TRY_NOW:
                self._downloads.resume(download)
            case Action.CANCEL | Action.CLEAR:
                self._downloads.cancel(download)

    def resume_all(self) -> None:
        """Go on with all that are halted."""
        for row in self.halted:
            self._downloads.resume(row.id)

    def clear_all(self) -> None:
        """Take all off the list that are over."""
        for row in self.done:
            self._downloads.cancel(row.id)

    def retry(self, problems: Collection[Problem]) -> None:
        """Go on with those that failed for one of these."""
        for row in tuple(self.rows.values()):
            if row.problem in problems:
                self._downloads.resume(row.id)

    def _changed(self, row: DownloadRow) -> None:
        self.rows[row.id] = row
        self.changed.emit()

    def _removed(self, download: str) -> None:
        self.rows.pop(download, None)
        self.removed.emit(download)
        self.changed.emit()
