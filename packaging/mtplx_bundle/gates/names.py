"""Gates: every disk keeps the names apart, and nobody may write to the files or take over rights with them."""

from __future__ import annotations

import stat
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


_MODES = {0o644, 0o755}


def same(contents: Contents) -> Iterator[str]:
    """Yield the names that a Mac's disk, which ignores case and composition, takes for one."""
    seen: dict[str, str] = {}
    for path in contents.everything:
        name = contents.name(path)
        other = seen.setdefault(unicodedata.normalize("NFD", name).casefold(), name)
        if other != name:
            yield f"{name} and {other} are one"


def modes(contents: Contents) -> Iterator[str]:
    """Yield the files that others may write, that nobody may read, or that lend their owner's rights."""
    for path in contents.everything:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not path.is_symlink() and mode not in ({0o755} if path.is_dir() else _MODES):
            yield f"{contents.name(path)} has mode {mode:o}"
