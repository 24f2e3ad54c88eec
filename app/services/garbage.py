"""Python's cyclic garbage, collected on the main thread alone.

Widgets that are part of a reference cycle end wherever the collector happens to run. On another thread than theirs
that brings the program down, now and then.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer

if TYPE_CHECKING:
    from PySide6.QtCore import QCoreApplication

_INTERVAL_MS: Final = 500


def collect_if_due() -> None:
    """Collect the generation that the interpreter would collect now."""
    for generation in (2, 1, 0):
        if gc.get_count()[generation] > gc.get_threshold()[generation]:
            gc.collect(generation)
            return


class GarbageCollector(QObject):
    """Collects now and then, from the event loop, instead of anywhere at any time."""

    def __init__(self, parent: QCoreApplication) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(collect_if_due)
        self._timer.start()

    def close(self) -> None:
        """Let the interpreter collect by itself again."""
        self._timer.stop()
        gc.enable()
