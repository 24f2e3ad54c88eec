"""Gate: macOS can read what it must know about the app, and it is true."""

from __future__ import annotations

import plistlib
import re
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from mtplx_bundle import info_plist

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents

_VERSION = re.compile(r"\d+(\.\d+){1,2}")  # macOS takes three numbers at most


def faults(contents: Contents) -> Iterator[str]:
    """Yield what is wrong with Info.plist."""
    layout = contents.layout
    try:
        found = plistlib.loads(layout.plist.read_bytes())
    except (OSError, ValueError, ExpatError) as error:
        yield f"Info.plist cannot be read: {error}"
        return
    version = str(found.get("CFBundleShortVersionString", ""))
    if not _VERSION.fullmatch(version):
        yield f"{version!r} is no version for macOS"
    for key, value in info_plist.entries(version).items():
        if found.get(key) != value:
            yield f"{key} is {found.get(key)!r}, not {value!r}"
    for path in (layout.executable, layout.icon):
        if not path.is_file():
            yield f"{contents.name(path)} is missing"
