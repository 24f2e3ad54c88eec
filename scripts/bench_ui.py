"""How long the window takes: from the start of the process to the first time it is painted.

`make bench-ui` runs it. Each run is a process of its own with an empty data folder and no model; the first one
warms the disk and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_RUNS = 7


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=_RUNS, help=f"counted runs (default {_RUNS})")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(float(options.child[0]), Path(options.child[1]))
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) and sys.platform != "darwin":
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    times = [_measure() for _ in range(options.runs + 1)][1:]
    _report(times, as_json=options.json)
    return 0


def _measure() -> float:
    """Return the seconds from starting a process to its painted window."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", str(time.monotonic()), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return float(done.stdout)


def _child(started: float, data_dir: Path) -> int:
    from PySide6.QtCore import QEvent, QObject

    from app import application

    class Painted(QObject):
        """Notes the first time that a window is painted, and ends the program."""

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
            if event.type() == QEvent.Type.Paint and watched.isWidgetType():
                watched.removeEventFilter(self)
                print(time.monotonic() - started, flush=True)
                application.QApplication.quit()
            return False

    class Watched(application.Application):
        def show(self) -> None:
            self.painted = Painted()
            self.window.installEventFilter(self.painted)
            super().show()

    application.Application = Watched  # type: ignore[misc]
    return application.run(data_dir, data_dir / "logs")


def _report(times: list[float], *, as_json: bool) -> None:
    median = statistics.median(times)
    if as_json:
        print(json.dumps({"window_visible_s": median, "runs": times}))
        return
    print(
        f"window visible after {median:.2f} s (median of {len(times)} starts, {min(times):.2f} to {max(times):.2f} s)"
    )


if __name__ == "__main__":
    sys.exit(main())
