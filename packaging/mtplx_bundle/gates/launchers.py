"""Gate: each launcher is a program for Macs that starts what it is there for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mtplx_bundle import launchers, macho
from mtplx_bundle.target import MINIMUM_MACOS, SDK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.macho import Image


def faults(contents: Contents) -> Iterator[str]:
    """Yield what is wrong with the launchers."""
    started = launchers.modules(contents.layout)
    for path, module in started.items():
        name, images = contents.name(path), contents.images.get(path, ())
        if len(images) != 1 or images[0].kind != macho.EXECUTABLE or not os.access(path, os.X_OK):
            yield f"{name} is no program"
            continue
        for what, found, wanted in (
            ("macOS", images[0].minimum, tuple(map(int, MINIMUM_MACOS.split(".")))),
            ("the SDK", images[0].sdk, SDK),
        ):
            if found != wanted:
                yield f"{name} is made for {what} {_words(found)}, not {_words(wanted)}"
        for other in filter(None, started.values()):
            if _names(images[0], other) != (other == module):
                yield f"{name} {'does not start' if other == module else 'starts'} {other}"


def _names(image: Image, module: str) -> bool:
    """Whether a module's name stands in a program, as the wide string that Python takes."""
    return f"{module}\0".encode("utf-32-le") in bytes(image.data)


def _words(version: tuple[int, ...] | None) -> str:
    return "unknown" if version is None else ".".join(map(str, version))
