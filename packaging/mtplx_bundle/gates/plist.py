"""Gate: macOS can read what it must know about the app, and it is true."""

from __future__ import annotations

import plistlib
import re
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from mtplx_bundle import icon, info_plist

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
    if not _VERSION.fullmatch(contents.expected.version):
        yield f"{contents.expected.version!r} is no version for macOS"
    wanted = info_plist.entries(contents.expected.version)
    for key in sorted(found.keys() | wanted.keys()):
        if found.get(key) != wanted.get(key):
            yield f"{key} is {found.get(key)!r}, not {wanted.get(key)!r}"
    if not layout.icon.is_file():
        yield f"{contents.name(layout.icon)} is missing"
    elif not icon.is_whole(layout.icon.read_bytes()):
        yield f"{contents.name(layout.icon)} is no icon with every size"
