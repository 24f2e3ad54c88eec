"""Packs the app for the way to the person: a zip anywhere, a disk image on a Mac."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.signing import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_bundle.layout import Layout


_LINK = 0o120000


def zipped(layout: Layout, path: Path) -> Path:
    """Pack the app into a zip that keeps what may be run and every link; return its path.

    Args:
        layout: The app.
        path: Of the zip.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for item in sorted(layout.root.rglob("*")):
            name = str(item.relative_to(layout.root.parent))
            if item.is_symlink():
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3  # Unix, where the mode below means something
                entry.external_attr = (_LINK | 0o777) << 16
                archive.writestr(entry, str(item.readlink()))
            elif item.is_file():
                archive.write(item, name)
    return path


def disk_image(layout: Layout, path: Path, run: Callable[[Sequence[str]], None] = run) -> Path:
    """Pack the app into a disk image with a way to Applications beside it; needs a Mac. Return its path.

    Args:
        layout: The app.
        path: Of the image.
        run: Runs a command.
    """
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder, layout.root.stem)
        staged.mkdir()
        shutil.copytree(layout.root, staged / layout.root.name, symlinks=True)
        (staged / "Applications").symlink_to("/Applications")
        command = ["hdiutil", "create", "-quiet", "-ov", "-format", "UDZO", "-fs", "HFS+"]
        run([*command, "-volname", layout.root.stem, "-srcfolder", str(staged), str(path)])
    return path
