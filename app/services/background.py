"""Work on a thread of its own, for objects that must not wait for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable


class Background(QObject):
    """Does one thing, and tells how it ended.

    A daemon thread and no QThread: what is stuck in the system (a name that is being looked up, a disk that is gone)
    when the program ends would abort it as a QThread.

    Args:
        name: Of the thread.
        work: What to do.

    Signals:
        ended(object): What the work returned or the exception it raised; on the thread of this object, which is
            deleted afterwards.
    """

    ended = Signal(object)

    _arrived = Signal(object)

    def __init__(self, name: str, work: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._lock = threading.Lock()
        self._abandoned = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._arrived.connect(self._deliver)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def abandon(self, wait_s: float) -> None:
        """Hear nothing of it any more, after so many seconds in which it may end."""
        self._thread.join(wait_s)
        with self._lock:
            self._abandoned = True

    def _run(self) -> None:
        try:
            outcome = self._work()
        except BaseException as error:  # noqa: BLE001 - told to whoever listens
            outcome = error
        with self._lock:
            if not self._abandoned:
                self._arrived.emit(outcome)

    @Slot(object)
    def _deliver(self, outcome: object) -> None:
        if not self._abandoned:
            self.ended.emit(outcome)
            self.deleteLater()
