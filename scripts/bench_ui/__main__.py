"""Measure the window: `make bench-ui`.

It runs without a screen, each part in a process of its own, and prints a table at the end. Times are judged without
those in which other programs held all cores, so that a busy machine does not blame the window for its neighbours.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scripts.bench_ui.figure import Figure


PARTS: Final = ("starting", "streaming", "opening", "pasting", "searching", "memory", "live", "history")
# How much is done in each part: starts, tokens, messages, characters, messages, answers, seconds, answers.
_FULL: Final = dict(zip(PARTS, (7, 10_000, 2_000, 1_000_000, 100_000, 500, 20, 100_000), strict=True))
_QUICK: Final = dict(zip(PARTS, (3, 2_000, 500, 100_000, 5_000, 50, 4, 10_000), strict=True))
_SECONDS: Final = 1800


def main() -> int:
    """Measure and print; return 1 when something is over its limit."""
    parser = argparse.ArgumentParser(prog="bench_ui", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, for a first look")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="leave out the other parts")
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--start", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    if options.start:
        from scripts.bench_ui import starting

        return starting.start(Path(options.start[0]), float(options.start[1]))
    if options.part:
        print(
            json.dumps(
                [dataclasses.asdict(figure) for figure in measure(options.part[0], int(options.part[1]))]
            )
        )
        return 0
    return _report(options.only, _QUICK if options.quick else _FULL)


def measure(part: str, amount: int) -> list[Figure]:
    """Measure one part in this process, in an empty folder."""
    from importlib import import_module

    with tempfile.TemporaryDirectory() as folder:
        figures: list[Figure] = import_module(f"scripts.bench_ui.{part}").measure(Path(folder), amount)
        return figures


def _report(parts: tuple[str, ...], amounts: dict[str, int]) -> int:
    from scripts.bench_ui.figure import Figure, table

    figures: list[Figure] = []
    for part in parts:
        print(f"{part} …", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "scripts.bench_ui", "--part", part, str(amounts[part])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_SECONDS)
        figures += [Figure(**fields) for fields in json.loads(done.stdout)]
    print(table(figures))
    print(f"\nLoad {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores.")
    print("Measured times leave out what other programs took of them; the clock does not.")
    return int(any(figure.over for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
