"""What is in an app, read once for all gates."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mtplx_bundle import macho

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_bundle.gates.expected import Expected
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.macho import Image


class Contents:
    """The files of an app.

    Args:
        layout: The app.
        expected: What it is to be made of.
    """

    def __init__(self, layout: Layout, expected: Expected) -> None:
        self.layout = layout
        self.expected = expected

    @cached_property
    def everything(self) -> tuple[Path, ...]:
        """Every file, folder and link."""
        return tuple(sorted(self.layout.root.rglob("*")))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Every file, links left out."""
        return tuple(path for path in self.everything if path.is_file() and not path.is_symlink())

    @cached_property
    def links(self) -> tuple[Path, ...]:
        """Every link, wherever it leads."""
        return tuple(path for path in self.everything if path.is_symlink())

    @cached_property
    def images(self) -> dict[Path, tuple[Image, ...]]:
        """What is in each Mach-O file; nothing in one that cannot be read."""
        return {path: _images(path) for path in self.files if macho.is_macho(path)}

    def name(self, path: Path) -> str:
        """Return a path as reports have it."""
        return str(path.relative_to(self.layout.root))


def _images(path: Path) -> tuple[Image, ...]:
    try:
        return macho.images(path.read_bytes())
    except macho.NotMachOError:
        return ()
