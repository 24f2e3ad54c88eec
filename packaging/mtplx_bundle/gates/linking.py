"""Gate: every library that something is linked to is in the app or in the system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.target import MACOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.macho import Image


_SYSTEM = ("/usr/lib/", "/System/Library/")


def faults(contents: Contents) -> Iterator[str]:
    """Yield the libraries that would not be found, the interpreter among them."""
    layout = contents.layout
    if not (layout.libraries / MACOS.python_library).is_file():
        yield f"{contents.name(layout.libraries / MACOS.python_library)} is missing"
    for path, images in contents.images.items():
        for image in images:
            for dependency in image.dependencies:
                if not dependency.weak and not _resolves(contents, path, image, dependency.name):
                    yield f"{contents.name(path)} needs {dependency.name}"


def _resolves(contents: Contents, path: Path, image: Image, name: str) -> bool:
    if name.startswith(_SYSTEM):
        return True
    if name.startswith("@rpath/"):
        rest = name.removeprefix("@rpath/")
        return any(_is_inside(contents, path, f"{rpath}/{rest}") for rpath in image.rpaths)
    return _is_inside(contents, path, name)


def _is_inside(contents: Contents, path: Path, name: str) -> bool:
    """Whether a name with `@loader_path` or `@executable_path` leads to a file in the app."""
    layout = contents.layout
    name = name.replace("@loader_path", str(path.parent)).replace(
        "@executable_path", str(layout.executable.parent)
    )
    found = Path(os.path.normpath(name))
    return found.is_relative_to(layout.root) and found.is_file()
