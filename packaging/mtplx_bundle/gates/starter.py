"""Gate: the starter model is whole, and the one of its recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


def faults(contents: Contents) -> Iterator[str]:
    """Yield what is missing from the starter model or is another than was installed."""
    folder = contents.layout.starter
    try:
        source, found = manifest.read_recipe(folder.parent), manifest.read_manifest(folder)
    except (OSError, ValueError, TypeError, KeyError) as error:
        yield f"its recipe cannot be read: {error!r}"
        return
    if found is None:
        yield f"{contents.name(folder / manifest.MANIFEST_NAME)} is missing"
        return
    if (found.id, found.revision) != (source.id, source.revision):
        yield f"it is {found.id} {found.revision}, not {source.id} {source.revision}"
    for name in manifest.differing_files(folder, found, lambda *_: None):
        yield f"{contents.name(folder / name)} is not as it was installed"
    for name in source.head.files:
        shipped, ours = folder / name, folder.parent / name
        if not (shipped.is_file() and ours.is_file() and shipped.read_bytes() == ours.read_bytes()):
            yield f"{contents.name(shipped)} is not the head of the recipe"
