"""Calls a function on its own thread when a descriptor can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSocketNotifier

if TYPE_CHECKING:
    from collections.abc import Callable


class Readable(QSocketNotifier):
    """A notifier without a connection.

    To connect a signal on another thread than the main one can hang the program: it waits for a lock of Qt's while it
    has Python's, and the end of a receiver on the main thread takes the two the other way round.
    """

    def __init__(self, descriptor: int, read: Callable[[], None], parent: QObject) -> None:
        super().__init__(descriptor, QSocketNotifier.Type.Read, parent)
        self._read = read

    def event(self, event: QEvent) -> bool:
        """Read."""
        if event.type() == QEvent.Type.SockAct:
            self._read()
            return True
        return super().event(event)
