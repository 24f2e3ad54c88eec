"""Ways to plant faults in an app."""

from __future__ import annotations

import plistlib
from typing import TYPE_CHECKING

from tests.support import tiny_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_bundle.layout import Layout


Fault = tuple["Callable[[Layout], object]", str, str]
"""Function that plants the fault, name of the gate that must find it, and a word of its sentence."""


def put(name: str, data: bytes) -> Callable[[Layout], None]:
    """Write a file below site-packages."""
    return lambda layout: tiny_app.put(layout.site / name, data) and None


def drop(name: str) -> Callable[[Layout], None]:
    """Delete a file below site-packages."""
    return lambda layout: (layout.site / name).unlink()


def link(name: str, target: str) -> Callable[[Layout], None]:
    """Put a link below site-packages."""
    return lambda layout: (layout.site / name).symlink_to(target)


def tell(**keys: object) -> Callable[[Layout], None]:
    """Add to Info.plist."""

    def plant(layout: Layout) -> None:
        entries = plistlib.loads(layout.plist.read_bytes())
        layout.plist.write_bytes(plistlib.dumps({**entries, **keys}))

    return plant


def script(layout: Layout) -> None:
    """Put a script in the place of the app's launcher."""
    layout.executable.write_text("#!/bin/sh\necho hi\n")
