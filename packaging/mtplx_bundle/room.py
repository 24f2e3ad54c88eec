"""A room on Linux in which a program can harm nothing: all files read-only but those of one folder, and no network."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


# The folder becomes a mount of its own, which stays writable when the one around it no longer is.
_SETUP = 'mount --bind "$0" "$0" && mount -o remount,ro,bind / && cd "$0" && exec "$@"'


def start(command: list[str], folder: Path, display: str) -> subprocess.Popen[bytes]:
    """Start a program as for somebody who has just come: with an empty home.

    Args:
        command: What to start.
        folder: The one place where it can write; `home` and `tmp` in it are made.
        display: Of the X server.
    """
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    # Nothing else of this process's environment: a double-click brings none either.
    environment = {
        "DISPLAY": display,
        "HOME": str(folder / "home"),
        "PATH": os.defpath,
        "TMPDIR": str(folder / "tmp"),
        **{name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")},
    }
    alone = ["unshare", "--net", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    with (folder / "output.log").open("wb") as output:
        return subprocess.Popen(
            [*alone, "sh", "-c", _SETUP, str(folder), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
