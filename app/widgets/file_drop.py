"""Files that are dropped on a widget, or pasted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtWidgets import QWidget


def local_files(data: QMimeData) -> list[Path]:
    """Return the files that are held out; none when an address of the net is among them."""
    urls = data.urls()
    return [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []


class FileDrop(QObject):
    """Takes files that are dropped anywhere on a widget where nothing else takes them.

    Signals:
        dropped(list[Path]): They came.
    """

    dropped = Signal(object)

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        area.setAcceptDrops(True)
        area.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept files, and nothing else."""
        if isinstance(event, QDropEvent | QDragEnterEvent):
            files = local_files(event.mimeData())
            if files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(files)
                return True
        return super().eventFilter(watched, event)
