"""Files that one version of a model has as well as another: these are not fetched again."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from mtplx_engine.hub import partial
from mtplx_engine.hub.plan import HEAD_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.plan import Plan


def link_same(plan: Plan, folder: Path, installed: Path, interrupt: Interrupt) -> None:
    """Give files of an installed model that are what a plan wants a second name in the folder where it grows.

    Where a volume knows no second names, nothing happens.

    Args:
        plan: What is wanted.
        folder: Where it grows.
        installed: The folder of the model, which may not be there.
        interrupt: Stops it.

    Raises:
        CancelledError: The interrupt was set.
    """
    if installed.is_symlink():
        return
    for _, file, name in plan.files():
        old, new = installed / name, folder / name
        if new.exists() or partial.is_growing(new) or old.is_symlink() or not old.is_file():
            continue
        if old.stat().st_size == file.size and file.digest.is_of(old, interrupt.check):
            new.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(old, new)
            except OSError:
                return


def leave_same(folder: Path, former: Plan, plan: Plan) -> None:
    """Delete what a former plan brought into the folder where a model grows, and another one does not have.

    Raises:
        OSError: The disk does not let it go.
    """
    same = {name: file.digest for _, file, name in plan.files()}
    for _, file, name in former.files():
        if same.get(name) != file.digest:
            partial.delete(folder / name)
    if former.taken != plan.taken:
        shutil.rmtree(folder / HEAD_FOLDER, ignore_errors=True)
