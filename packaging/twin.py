"""`python packaging/twin.py`: asks the app's twin a question, without a screen or a network; Linux only."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from mtplx_bundle import twin
from mtplx_bundle.layout import Layout

_BUILD = Path(__file__).resolve().parent.parent / "build"


def main() -> int:
    """Try the twin that `build.py --twin` has built; return 0 when it answered and did no harm."""
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if missing:
        sys.stdout.write(f"twin: install {' and '.join(missing).lower()} first\n")
        return 1
    folder = _BUILD / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        result = twin.try_twin(Layout(_BUILD / "twin" / "MTPLX.app"), folder)
    except twin.StuckError as error:
        sys.stdout.write(f"twin: {error}\n")
        return 1
    sys.stdout.write(f"twin: it answered: {result.answer!r}\ntwin: {result.picture}\n")
    for fault in result.faults:
        sys.stdout.write(f"twin: {fault}\n")
    return 1 if result.faults or not result.answer else 0


if __name__ == "__main__":
    sys.exit(main())
