"""How long the program takes to start: until its window is painted, and until it takes what is typed.

It imports no more than the program itself does, since `start` is what is measured.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from app import program
from scripts.bench_ui.timing import Moment, OwnTime, Result, timed

if TYPE_CHECKING:
    from pathlib import Path


def measure_starting(folder: Path, starts: int) -> list[Result]:
    """Start the program so many times with an empty folder and no model; a first start warms the disk."""
    runs = [_start_once(folder / str(number)) for number in range(starts + 1)][1:]
    names = ("start: window painted", "start: composer takes what is typed")
    return [
        timed(f"{name}, median of {starts}", _median([run[index] for run in runs])) for index, name in enumerate(names)
    ]


def start(data_dir: Path, started: float) -> int:
    """Run the program in this process, print the times since `started` by the monotonic clock, and end."""
    clock = OwnTime()
    moments: list[Moment] = []

    class Watched(program.Application):
        """Types something as soon as the window has been painted."""

        def show(self) -> None:
            self.window.installEventFilter(self)
            super().show()

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
            if event.type() == QEvent.Type.Paint and watched is self.window:
                watched.removeEventFilter(self)
                moments.append(clock.now().since(Moment(started, started)))
                QTimer.singleShot(0, self, self.type)
            return False

        def type(self) -> None:
            edit = self.window.focusWidget()
            key = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier, "a")
            QApplication.sendEvent(edit, key)
            edit.repaint()
            if self.window.pane.composer.text() != "a":
                raise RuntimeError("the composer does not take what is typed")
            moments.append(clock.now().since(Moment(started, started)))
            QApplication.quit()

    program.Application = Watched  # type: ignore[misc]
    code = program.run(data_dir, data_dir / "logs")
    print(json.dumps([[moment.wall, moment.own] for moment in moments]))
    return code


def _start_once(folder: Path) -> list[Moment]:
    command = [sys.executable, "-m", "scripts.bench_ui", "--start", str(folder), str(time.monotonic())]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return [Moment(*pair) for pair in json.loads(done.stdout)]


def _median(moments: list[Moment]) -> Moment:
    return Moment(
        statistics.median(moment.wall for moment in moments),
        statistics.median(moment.own for moment in moments),
    )
