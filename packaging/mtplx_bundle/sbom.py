"""What the app ships, as a CycloneDX 1.5 document: the form in which scanners for known faults read it."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from mtplx_bundle.distributions import OWN, shipped
from mtplx_bundle.layout import APP_NAME

if TYPE_CHECKING:
    from mtplx_bundle.distributions import Distribution
    from mtplx_bundle.layout import Layout

SPEC_VERSION = "1.5"


def write(layout: Layout, python_version: str) -> None:
    """Write the document into the app.

    Args:
        layout: The app, with everything in it.
        python_version: Of the interpreter in it.
    """
    layout.sbom.write_text(json.dumps(document(shipped(layout), python_version), indent=1) + "\n")


def document(distributions: tuple[Distribution, ...], python_version: str) -> dict[str, Any]:
    """Return the document: the app, and a component for each part of it."""
    parts = [_wheel(item) for item in distributions if item.key != OWN]
    own = next(item for item in distributions if item.key == OWN)
    parts.append(_component("CPython", python_version, "Python-2.0", f"pkg:generic/cpython@{python_version}"))
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": APP_NAME,
                "version": own.version,
                "licenses": [{"expression": own.licence}],
            }
        },
        "components": parts,
    }
    # From the content, so that the same app has the same document.
    body["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))}"
    return body


def _wheel(item: Distribution) -> dict[str, Any]:
    name = item.name.lower().replace("_", "-")
    return _component(item.name, item.version, item.licence, f"pkg:pypi/{name}@{item.version}")


def _component(name: str, version: str, licence: str, purl: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }
    if licence:
        found["licenses"] = [{"expression": licence}]
    return found
