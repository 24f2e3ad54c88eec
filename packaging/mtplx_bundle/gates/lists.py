"""Gates: what is shipped is listed, and each part has its licence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mtplx_bundle import licences
from mtplx_bundle.distributions import OWN, shipped
from mtplx_bundle.sbom import SPEC_VERSION, besides

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.layout import Layout


def unlisted(contents: Contents) -> Iterator[str]:
    """Yield the parts that the CycloneDX document does not have, and those that it has too many."""
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
        for item in besides(contents.layout, contents.expected.modules.version)
        if item.version
    }
    for name, version in sorted(there - listed):
        yield f"{name} {version} is not listed"
    for name, version in sorted(listed - there):
        yield f"{name} {version} is listed but not there"


def unlicensed(contents: Contents) -> Iterator[str]:
    """Yield the parts without a licence text, the texts of wheels that are not among ours, and the empty ones."""
    layout = contents.layout
    if not _has_words(layout.licences / licences.NOTICE):
        yield f"{licences.NOTICE}, which says how to exchange Qt, is missing"
    for name in (*(item.key for item in shipped(layout)), *_besides(layout)):
        texts = list((layout.licences / name).glob("*"))
        if not texts:
            yield f"{name} has no licence text"
        yield from (f"{contents.name(path)} is empty" for path in texts if not _has_words(path))
    for item in shipped(layout):
        there = {path.read_bytes() for path in (layout.licences / item.key).glob("*")}
        for path in sorted(item.folder.glob("licenses/**/*")):  # where a wheel of today has them
            if path.is_file() and path.read_bytes() not in there:
                yield f"{path.name} of {item.name} is not among the licences"


def _besides(layout: Layout) -> Iterator[str]:
    """Yield what is no wheel, by what is there of it."""
    yield from ("python", "fonts", "starter-model")
    for name, library in (("openssl", "libcrypto*"), ("ncurses", "libncurses*")):
        if any(layout.extensions.glob(library)):
            yield name


def _has_words(path: Path) -> bool:
    return path.is_file() and bool(path.read_bytes().strip())
