"""Gate: the app is no larger than it may be. The starter model, which comes on top, is not counted."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


BUNDLE_MB, ZIP_MB = 400, 120


def faults(contents: Contents) -> Iterator[str]:
    """Yield which budget is exceeded."""
    bundle = bundle_bytes(contents)
    if bundle > BUNDLE_MB * 1e6:
        yield f"the app has {bundle / 1e6:.0f} MB, {BUNDLE_MB} are allowed"
    for path in contents.layout.root.parent.glob("*.zip"):
        packed = zip_bytes(contents, path)
        if packed > ZIP_MB * 1e6:
            yield f"{path.name} has {packed / 1e6:.0f} MB, {ZIP_MB} are allowed"


def bundle_bytes(contents: Contents) -> int:
    """Return how many bytes the app has without the starter model."""
    starter = contents.layout.starter.parent
    return sum(path.stat().st_size for path in contents.files if not path.is_relative_to(starter))


def zip_bytes(contents: Contents, path: Path) -> int:
    """Return how many bytes the files of the app take in a zip, without the starter model."""
    starter = str(contents.layout.starter.parent.relative_to(contents.layout.root.parent))
    with zipfile.ZipFile(path) as archive:
        return sum(
            item.compress_size for item in archive.infolist() if not item.filename.startswith(f"{starter}/")
        )
