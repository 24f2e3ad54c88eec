"""`python -I -m mtplx_engine.doctor.bundle_child DATA_DIR`: the results of `bundle.checks`, as JSON.

A process of its own, since it imports mlx, which the window must not, and which ends a process at the worst.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from mtplx_engine.doctor import bundle


def main(data: Path) -> int:
    json.dump([dataclasses.asdict(check) for check in bundle.checks(data)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
