"""Files that only their owner can read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, or take the others' right to read one that is there.

    An existing file is not opened: closing it would drop the locks that this process may hold on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        path.chmod(0o600)
