"""Gate: nothing is in the app that nobody has put there on purpose."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mtplx_bundle import launchers, precompiling, record
from mtplx_bundle.distributions import shipped
from mtplx_bundle.runtime import SETTINGS
from mtplx_bundle.target import MACOS
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


def faults(contents: Contents) -> Iterator[str]:
    """Yield the files that belong to no wheel, not to Python, not to the starter model and not to the app itself."""
    known = {*_own(contents), *_of_wheels(contents), *_of_python(contents), *_of_starter(contents)}
    known |= {precompiling.compiled(path) for path in known if path.suffix == ".py"}
    for path in contents.files:
        if path not in known and not path.is_relative_to(contents.layout.licences):
            yield f"{contents.name(path)} belongs to nothing"
    for path in contents.links:
        yield f"{contents.name(path)} is a link, and no part has any"


def _own(contents: Contents) -> Iterator[Path]:
    layout = contents.layout
    yield from launchers.modules(layout)
    yield from (layout.plist, layout.seal, layout.ticket, layout.icon, layout.sbom)
    # The signing seals each of Qt's frameworks by itself.
    yield from layout.site.glob("PySide6/Qt/lib/*.framework/Versions/A/_CodeSignature/CodeResources")


def _of_wheels(contents: Contents) -> Iterator[Path]:
    for item in shipped(contents.layout):
        try:
            yield from (contents.layout.site / entry.name for entry in record.read(item))
        except (OSError, ValueError):
            continue  # the gate of the wheels says so


def _of_python(contents: Contents) -> Iterator[Path]:
    layout = contents.layout
    yield layout.libraries / MACOS.python_library
    yield from (layout.stdlib / name for name in contents.expected.modules.names)
    yield from layout.stdlib.glob(SETTINGS)
    for path in layout.extensions.glob("*"):
        if path in contents.images and (
            path.name.partition(".")[0] in sys.stdlib_module_names or path.suffix == ".dylib"
        ):
            yield path


def _of_starter(contents: Contents) -> Iterator[Path]:
    starter = contents.layout.starter
    yield starter / manifest.MANIFEST_NAME
    found = manifest.read_manifest(starter)
    if found is not None:
        yield from (starter / item.name for item in found.files)
