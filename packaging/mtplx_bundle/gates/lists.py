"""Gates: what is shipped is listed, and each part has its licence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mtplx_bundle.distributions import OWN, shipped
from mtplx_bundle.sbom import SPEC_VERSION, besides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


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
    there |= {(item.name, item.version) for item in besides(contents.layout) if item.version}
    for name, version in sorted(there - listed):
        yield f"{name} {version} is not listed"
    for name, version in sorted(listed - there):
        yield f"{name} {version} is listed but not there"


def unlicensed(contents: Contents) -> Iterator[str]:
    """Yield the parts without a licence text."""
    for name in (*(item.key for item in shipped(contents.layout)), "python", "fonts"):
        folder = contents.layout.licences / name
        if not any(folder.glob("*")):
            yield f"{name} has no licence text"
