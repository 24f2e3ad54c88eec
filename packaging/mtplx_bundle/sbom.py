"""What the app ships, as a CycloneDX 1.5 document: the form in which scanners for known faults read it."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_bundle import fonts, runtime
from mtplx_bundle.distributions import OWN, shipped
from mtplx_engine.models import manifest
from mtplx_engine.paths import APP_NAME

if TYPE_CHECKING:
    from mtplx_bundle.distributions import Distribution
    from mtplx_bundle.layout import Layout


SPEC_VERSION = "1.5"


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is shipped and that no wheel stands for.

    Attributes:
        name: As its makers write it.
        version: None when it is not shipped after all.
        licence: An SPDX expression.
        kind: The type, as CycloneDX has it.
    """

    name: str
    version: str | None
    licence: str
    kind: str = "library"


def write(layout: Layout, python: str) -> None:
    """Write the document into the app, which has everything in it.

    Args:
        layout: The app.
        python: Version of Python's own modules.
    """
    body = document(shipped(layout), besides(layout, python))
    layout.sbom.write_text(json.dumps(body, indent=1) + "\n")


def besides(layout: Layout, python: str) -> tuple[Part, ...]:
    """Return what the app ships besides wheels, and what wheels bring along that has faults of its own.

    Args:
        layout: The app.
        python: Version of Python's own modules, which need not be that of the interpreter.
    """
    model = manifest.read_recipe(layout.starter.parent)
    shipped_fonts = layout.site / "resources" / "fonts"
    versions = {item.key: item.version for item in shipped(layout)}
    return (
        Part("CPython", runtime.version(layout), "Python-2.0"),
        Part("CPython standard library", python, "Python-2.0"),
        Part("OpenSSL", runtime.openssl_version(layout), "Apache-2.0"),
        Part("ncurses", runtime.ncurses_version(layout), "X11-distribute-modifications-variant"),
        Part("SQLite", runtime.sqlite_version(layout), "blessing"),
        Part(
            "Qt", versions.get("pyside6_essentials"), "LGPL-3.0-only"
        ),  # the wheels of both have one version
        Part("Inter", fonts.version(shipped_fonts, "Inter"), "OFL-1.1"),
        Part("JetBrains Mono", fonts.version(shipped_fonts, "JetBrainsMono"), "OFL-1.1"),
        Part(model.name, model.requirement.partition("==")[2], model.licence, "machine-learning-model"),
    )


def document(distributions: tuple[Distribution, ...], others: tuple[Part, ...]) -> dict[str, Any]:
    """Return the document: the app, and a component for each part of it."""
    own = next(item for item in distributions if item.key == OWN)
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
        "components": [
            *(_wheel(item) for item in distributions if item is not own),
            *(_other(item) for item in others if item.version),
        ],
    }
    # From the content, so that the same app has the same document.
    body["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))}"
    return body


def _wheel(item: Distribution) -> dict[str, Any]:
    name = item.name.lower().replace("_", "-")
    purl = f"pkg:pypi/{name}@{item.version}"
    return _component("library", item.name, item.version, item.licence) | {"bom-ref": purl, "purl": purl}


def _other(item: Part) -> dict[str, Any]:
    purl = f"pkg:generic/{item.name.lower().replace(' ', '-')}@{item.version}"
    return _component(item.kind, item.name, item.version or "", item.licence) | {
        "bom-ref": purl,
        "purl": purl,
    }


def _component(kind: str, name: str, version: str, licence: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, "name": name, "version": version}
    if licence:
        found["licenses"] = [{"expression": licence}]
    return found
