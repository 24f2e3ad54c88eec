"""`python packaging/check.py`: checks a built app with every gate. `make check-app` runs it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mtplx_bundle.gates import files
from mtplx_bundle.gates.contents import Contents, of_checkout
from mtplx_bundle.gates.gate import GATES
from mtplx_bundle.layout import Layout

_APP = Path(__file__).resolve().parent.parent / "build" / "app" / "MTPLX.app"
_PRINTED_FAULTS = 20  # of a gate


def main() -> int:
    """Print the report; return 0 when every gate is open."""
    parser = argparse.ArgumentParser(description="Hold a built MTPLX.app against every gate.")
    parser.add_argument("app", nargs="?", type=Path, default=_APP, help="by default what `make app` has built")
    parser.add_argument("--python", type=Path, metavar="DIR", help="the Python that `make app` was told to take")
    options = parser.parse_args()
    app: Path = options.app
    if not app.is_dir():
        parser.error(f"there is no {app}; `make app` builds it")
    contents, closed = Contents(Layout(app.resolve()), of_checkout(options.python)), 0
    for gate in GATES:
        started = time.monotonic()
        faults = list(gate.faults(contents))
        closed += bool(faults)
        _say(f"{'FAIL' if faults else 'ok':5}{gate.name} ({time.monotonic() - started:.1f} s)")
        for fault in faults[:_PRINTED_FAULTS]:
            _say(f"       {fault}")
        if len(faults) > _PRINTED_FAULTS:
            _say(f"       and {len(faults) - _PRINTED_FAULTS} more")
    _print_sizes(contents)
    return 1 if closed else 0


def _print_sizes(contents: Contents) -> None:
    _say(f"{len(contents.files)} files, {len(contents.images)} of them machine code")
    bundle = files.bundle_bytes(contents) / 1e6
    whole = sum(path.stat().st_size for path in contents.files) / 1e6
    _say(f"app: {whole:.0f} MB, {bundle:.0f} of {files.BUNDLE_MB} MB without the starter model")
    for path in sorted(contents.layout.root.parent.glob("*.zip")):
        packed = files.zip_bytes(contents, path) / 1e6
        whole = path.stat().st_size / 1e6
        _say(f"{path.name}: {whole:.0f} MB, {packed:.0f} of {files.ZIP_MB} MB without the starter model")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
