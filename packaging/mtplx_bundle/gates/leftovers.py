"""Gates: nothing is in the app that must not be: paths to elsewhere, web engines, QML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents

_UNWANTED = re.compile(r"WebEngine|Qml|\bqml\b|Quick", re.IGNORECASE)


def paths_to_elsewhere(contents: Contents) -> Iterator[str]:
    """Yield the files that would make Python look into other folders at its start, and links out of the app."""
    for path in contents.files:
        if path.suffix in (".pth", ".egg-link") or path.name in (
            "pyvenv.cfg",
            "sitecustomize.py",
            "usercustomize.py",
        ):
            yield contents.name(path)
    for path in contents.layout.root.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(contents.layout.root.resolve()):
            yield f"{contents.name(path)} leads to {path.readlink()}"


def web_and_qml(contents: Contents) -> Iterator[str]:
    """Yield what belongs to Qt's web engine or to QML, neither of which the app uses."""
    qt = contents.layout.site / "PySide6"
    for path in contents.files:
        if path.is_relative_to(qt) and _UNWANTED.search(contents.name(path)):
            yield contents.name(path)
