"""`python packaging/check.py`: holds a built app against every gate. `make check-app` runs it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mtplx_bundle.gates import expected, sizes
from mtplx_bundle.gates.contents import Contents
from mtplx_bundle.gates.gate import GATES
from mtplx_bundle.layout import Layout

_APP = Path(__file__).resolve().parent.parent / "build" / "app" / "MTPLX.app"
_MOST = 20  # faults of a gate that are printed


def main() -> int:
    """Print the report; return 0 when every gate is open."""
    parser = argparse.ArgumentParser(description="Hold a built MTPLX.app against every gate.")
    parser.add_argument(
        "app", nargs="?", type=Path, default=_APP, help="by default what `make app` has built"
    )
    parser.add_argument(
        "--python", type=Path, metavar="DIR", help="the Python that `make app` was told to take"
    )
    options = parser.parse_args()
    app: Path = options.app
    if not app.is_dir():
        parser.error(f"there is no {app}; `make app` builds it")
    contents, closed = Contents(Layout(app.resolve()), expected.of_checkout(options.python)), 0
    for gate in GATES:
        started = time.monotonic()
        faults = list(gate.faults(contents))
        closed += bool(faults)
        _say(f"{'FAIL' if faults else 'ok':5}{gate.name} ({time.monotonic() - started:.1f} s)")
        for fault in faults[:_MOST]:
            _say(f"       {fault}")
        if len(faults) > _MOST:
            _say(f"       and {len(faults) - _MOST} more")
    _say_sizes(contents)
    return 1 if closed else 0


def _say_sizes(contents: Contents) -> None:
    _say(f"{len(contents.files)} files, {len(contents.images)} of them machine code")
    bundle = sizes.bundle_bytes(contents) / 1e6
    whole = sum(path.stat().st_size for path in contents.files) / 1e6
    _say(f"app: {whole:.0f} MB, {bundle:.0f} of {sizes.BUNDLE_MB} MB without the starter model")
    for path in sorted(contents.layout.root.parent.glob("*.zip")):
        packed = sizes.zip_bytes(contents, path) / 1e6
        whole = path.stat().st_size / 1e6
        _say(f"{path.name}: {whole:.0f} MB, {packed:.0f} of {sizes.ZIP_MB} MB without the starter model")


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")


if __name__ == "__main__":
    sys.exit(main())
