"""Collects the licence texts of all that the app ships."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.distributions import shipped

if TYPE_CHECKING:
    from mtplx_bundle.distributions import Distribution
    from mtplx_bundle.layout import Layout


NOTICE = "README.txt"
"""What it says of all texts: which are whose, and the rights that the LGPL gives."""
_TEXT = re.compile(r"licen[cs]e|copying|notice|authors", re.IGNORECASE)
_OWN = Path(__file__).resolve().parent.parent / "licences"
_PROJECT = _OWN.parents[1]

# Wheels that carry no text of their licence.
_MISSING = {
    "latex2mathml": ("MIT.txt",),
    "pyside6_essentials": ("LGPL-3.0.txt", "GPL-3.0.txt"),  # the first refers to the second
    "sentencepiece": ("Apache-2.0.txt",),
    "shiboken6": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "tokenizers": ("Apache-2.0.txt",),
}
# What comes with the interpreter and with our resources.
_BESIDES = {
    "ncurses": ("ncurses.txt",),
    "openssl": ("Apache-2.0.txt",),
    "starter-model": ("Apache-2.0.txt",),
}


class NoLicenceError(ValueError):
    """A wheel has no licence text, and we know of none for it."""


def collect(layout: Layout) -> None:
    """Put the texts into the app, in a folder for each part.

    Raises:
        NoLicenceError: There is none for a wheel.
    """
    layout.licences.mkdir(parents=True)
    shutil.copyfile(_OWN / NOTICE, layout.licences / NOTICE)
    for distribution in shipped(layout):
        _collect_one(layout, distribution)
    for name, texts in _BESIDES.items():
        _take(layout.licences / name, texts)
    _copy(layout.stdlib / "LICENSE.txt", layout.licences / "python")
    for path in (layout.site / "resources" / "fonts").glob("*OFL*"):
        _copy(path, layout.licences / "fonts")


def _collect_one(layout: Layout, distribution: Distribution) -> None:
    folder = layout.licences / distribution.key
    for path in distribution.folder.rglob("*"):
        if path.is_file() and _TEXT.search(path.name):
            _copy(path, folder)
    if not folder.exists():
        if distribution.key not in _MISSING:
            raise NoLicenceError(f"{distribution.name} {distribution.version} ({distribution.licence})")
        _take(folder, _MISSING[distribution.key])


def _take(folder: Path, texts: tuple[str, ...]) -> None:
    for name in texts:
        # Ours is the text of the Apache licence itself.
        source = _PROJECT / "LICENSE" if name == "Apache-2.0.txt" else _OWN / name
        _copy(source, folder, name)


def _copy(path: Path, folder: Path, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (name or path.name)
    while target.exists():  # the same name from another folder
        target = target.with_name(f"_{target.name}")
    shutil.copyfile(path, target)
