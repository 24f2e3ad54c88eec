"""Gates: nothing is in the app that must not be: paths to elsewhere, web engines, QML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


_ELSEWHERE = {"pyvenv.cfg", "python311.zip", "sitecustomize.py", "usercustomize.py"}
_SUFFIXES = (".pth", "._pth", ".egg-link")
_ANYWHERE = re.compile(r"WebEngine", re.IGNORECASE)
# Outside of Qt a module may have such a name.
_UNWANTED = re.compile(rf"{_ANYWHERE.pattern}|Qml|\bqml\b|Quick", re.IGNORECASE)


def paths_to_elsewhere(contents: Contents) -> Iterator[str]:
    """Yield the files that make Python look into other folders at its start, and links that lead out or nowhere."""
    for path in contents.files:
        name = path.name.lower()
        if name in _ELSEWHERE or name.endswith(_SUFFIXES):
            yield contents.name(path)
    root = contents.layout.root.resolve()
    for path in contents.links:
        target, found = path.readlink(), path.resolve()
        if target.is_absolute() or not found.is_relative_to(root) or not found.exists():
            yield f"{contents.name(path)} leads to {target}"


def web_and_qml(contents: Contents) -> Iterator[str]:
    """Yield what belongs to Qt's web engine or to QML, neither of which the app uses."""
    qt = contents.layout.site / "PySide6"
    for path in contents.files:
        unwanted = _UNWANTED if path.is_relative_to(qt) else _ANYWHERE
        if unwanted.search(contents.name(path)):
            yield contents.name(path)
