"""Gates for what is said of the app: Info.plist and icon, the list of parts, licences, the starter model."""

from __future__ import annotations

import json
import plistlib
import re
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from mtplx_bundle import inventory, metadata
from mtplx_bundle.inventory import SPEC_VERSION, other_parts
from mtplx_bundle.wheels import OWN, shipped
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.layout import Layout


_VERSION = re.compile(r"\d+(\.\d+){1,2}")  # macOS takes three numbers at most


def wrong_plist(contents: Contents) -> Iterator[str]:
    """Yield the wrong keys of Info.plist, and what is wrong with the icon."""
    layout = contents.layout
    try:
        found = plistlib.loads(layout.plist.read_bytes())
    except (OSError, ValueError, ExpatError) as error:
        yield f"Info.plist cannot be read: {error}"
        return
    if not _VERSION.fullmatch(contents.expected.version):
        yield f"{contents.expected.version!r} is no version for macOS"
    wanted = metadata.info_plist(contents.expected.version)
    for key in sorted(found.keys() | wanted.keys()):
        if found.get(key) != wanted.get(key):
            yield f"{key} is {found.get(key)!r}, not {wanted.get(key)!r}"
    if not layout.icon.is_file():
        yield f"{contents.name(layout.icon)} is missing"
    elif not metadata.is_whole_icon(layout.icon.read_bytes()):
        yield f"{contents.name(layout.icon)} is no icon with every size"


def unlisted(contents: Contents) -> Iterator[str]:
    """Yield the parts that are missing from the CycloneDX document, and those in it that the app lacks."""
    try:
        body = json.loads(contents.layout.sbom.read_bytes())
        if (body["bomFormat"], body["specVersion"]) != ("CycloneDX", SPEC_VERSION):
            yield f"it is {body['bomFormat']} {body['specVersion']}"
        listed = {(item["name"], item["version"]) for item in body["components"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield f"the list of parts cannot be read: {error!r}"
        return
    there = {(item.name, item.version) for item in shipped(contents.layout) if item.key != OWN}
    there |= {
        (item.name, item.version)
        for item in other_parts(contents.layout, contents.expected.modules.version)
        if item.version
    }
    for name, version in sorted(there - listed):
        yield f"{name} {version} is not listed"
    for name, version in sorted(listed - there):
        yield f"{name} {version} is listed but not there"


def unlicensed(contents: Contents) -> Iterator[str]:
    """Yield the parts without a licence text, the texts of wheels that are not among ours, and the empty ones."""
    layout = contents.layout
    if not _has_text(layout.licences / inventory.NOTICE):
        yield f"{inventory.NOTICE}, which says how to exchange Qt, is missing"
    for name in (*(item.key for item in shipped(layout)), *_unpackaged(layout)):
        texts = list((layout.licences / name).glob("*"))
        if not texts:
            yield f"{name} has no licence text"
        yield from (f"{contents.name(path)} is empty" for path in texts if not _has_text(path))
    for item in shipped(layout):
        there = {path.read_bytes() for path in (layout.licences / item.key).glob("*")}
        for path in sorted(item.folder.glob("licenses/**/*")):  # where current wheels have them
            if path.is_file() and path.read_bytes() not in there:
                yield f"{path.name} of {item.name} is not among the licences"


def _unpackaged(layout: Layout) -> Iterator[str]:
    """Yield the parts besides wheels that the app has."""
    yield from ("python", "fonts", "starter-model")
    for name, library in (("openssl", "libcrypto*"), ("ncurses", "libncurses*")):
        if any(layout.extensions.glob(library)):
            yield name


def _has_text(path: Path) -> bool:
    return path.is_file() and bool(path.read_bytes().strip())


def wrong_starter(contents: Contents) -> Iterator[str]:
    """Yield the files of the starter model that are missing or changed, and another model or head than the recipe's."""
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
