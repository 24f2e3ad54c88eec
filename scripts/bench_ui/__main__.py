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
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scripts.bench_ui.timing import Result


# The module of each part, which has a function `measure_PART`; imported in the process of the part only.
PARTS: Final = {
    "starting": "starting",
    "streaming": "chat_pane",
    "opening": "chat_pane",
    "pasting": "chat_pane",
    "searching": "searching",
    "memory": "memory",
    "live": "speed_window",
    "history": "speed_window",
}
# The amount of work of each part: starts, tokens, messages, characters, messages, answers, seconds, answers.
_FULL: Final = dict(zip(PARTS, (7, 10_000, 2_000, 1_000_000, 100_000, 500, 20, 100_000), strict=True))
_QUICK: Final = dict(zip(PARTS, (3, 2_000, 500, 100_000, 5_000, 50, 4, 10_000), strict=True))
_TIMEOUT_S: Final = 1800


def main() -> int:
    """Measure and print; return 1 when a result is over its limit."""
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
        results = measure(options.part[0], int(options.part[1]))
        print(json.dumps([dataclasses.asdict(result) for result in results]))
        return 0
    return _report(options.only, _QUICK if options.quick else _FULL)


def measure(part: str, amount: int) -> list[Result]:
    """Measure one part in this process, in an empty folder."""
    module = import_module(f"scripts.bench_ui.{PARTS[part]}")
    with tempfile.TemporaryDirectory() as folder:
        results: list[Result] = getattr(module, f"measure_{part}")(Path(folder), amount)
        return results


def _report(parts: tuple[str, ...], amounts: dict[str, int]) -> int:
    from scripts.bench_ui.timing import Result, table

    results: list[Result] = []
    for part in parts:
        print(f"{part} …", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "scripts.bench_ui", "--part", part, str(amounts[part])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S)
        results += [Result(**fields) for fields in json.loads(done.stdout)]
    print(table(results))
    print(f"\nLoad {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores.")
    print("Measured times leave out what other programs took of them; the clock does not.")
    return int(any(result.over for result in results))


if __name__ == "__main__":
    sys.exit(main())
