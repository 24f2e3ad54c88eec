"""Gate: every wheel that is locked is there, and every file of it as its makers packed it.

The expectation is the wheels' own, from their `RECORD`; what trimming leaves out is the one exception. Machine code
is thinned and signed, so of that it is only asked that it is machine code; other gates look at it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mtplx_bundle import record, trimming
from mtplx_bundle.distributions import OWN, shipped
from mtplx_bundle.gates.expected import normal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.distributions import Distribution
    from mtplx_bundle.gates.contents import Contents


def faults(contents: Contents) -> Iterator[str]:
    """Yield the wheels and the files of wheels that are missing, that are others, or that should not be there."""
    found = {(normal(item.name), item.version): item for item in shipped(contents.layout)}
    wanted = {*contents.expected.wheels, (normal(OWN), contents.expected.version)}
    for name, version in sorted(wanted - found.keys()):
        if not trimming.is_left_out(f"{name.replace('-', '_')}-{version}.dist-info"):
            yield f"{name} {version} is missing"
    for name, version in sorted(found.keys() - wanted):
        yield f"{name} {version} is not locked"
    for name in sorted(contents.expected.own):
        if not (contents.layout.site / name).is_file():
            yield f"{name} of this checkout is missing"
    for item in found.values():
        try:
            yield from _of_one(contents, item)
        except (OSError, ValueError) as error:
            yield f"the record of {item.name} cannot be read: {error}"


def _of_one(contents: Contents, item: Distribution) -> Iterator[str]:
    for entry in record.read(item):
        path = contents.layout.site / entry.name
        if path.suffix == ".pyc":
            continue  # compiled anew; another gate looks at it
        if trimming.is_left_out(entry.name):
            if path.exists():
                yield f"{entry.name} should have been left out"
        elif not path.is_file():
            yield f"{entry.name} of {item.name} is missing"
        elif entry.sha256 and path not in contents.images and _sha256(path) != entry.sha256:
            yield f"{entry.name} is not the one in the wheel of {item.name}"


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
