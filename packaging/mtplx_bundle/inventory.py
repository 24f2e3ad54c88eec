"""What the app ships: a CycloneDX 1.5 list of its parts, which vulnerability scanners read, and their licence texts."""

from __future__ import annotations

import json
import re
import shutil
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_bundle import runtime
from mtplx_bundle.wheels import OWN, shipped
from mtplx_engine.models import manifest
from mtplx_engine.paths import APP_NAME

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.wheels import Distribution


SPEC_VERSION = "1.5"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the app that no wheel stands for.

    Attributes:
        name: As its makers write it.
        version: None when the app does without it.
        licence: An SPDX expression.
        kind: The type, as CycloneDX has it.
    """

    name: str
    version: str | None
    licence: str
    kind: str = "library"


def write_sbom(layout: Layout, python: str) -> None:
    """Write the CycloneDX document into the app, which is complete but for it.

    Args:
        layout: The app.
        python: Version of Python's own modules.
    """
    body = sbom(shipped(layout), other_parts(layout, python))
    layout.sbom.write_text(json.dumps(body, indent=1) + "\n")


def other_parts(layout: Layout, python: str) -> tuple[Part, ...]:
    """Return the parts besides wheels, and those inside wheels that have vulnerabilities of their own.

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
        Part("Qt", versions.get("pyside6_essentials"), "LGPL-3.0-only"),  # PySide has the version of its Qt
        Part("Inter", font_version(shipped_fonts, "Inter"), "OFL-1.1"),
        Part("JetBrains Mono", font_version(shipped_fonts, "JetBrainsMono"), "OFL-1.1"),
        Part(model.name, model.requirement.partition("==")[2], model.licence, "machine-learning-model"),
    )


def sbom(distributions: tuple[Distribution, ...], others: tuple[Part, ...]) -> dict[str, Any]:
    """Return the CycloneDX document: the app, and a component for each part."""
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
            *(_wheel_component(item) for item in distributions if item is not own),
            *(_part_component(item) for item in others if item.version),
        ],
    }
    # From the content, so that the same app has the same document.
    body["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))}"
    return body


def _wheel_component(item: Distribution) -> dict[str, Any]:
    name = item.name.lower().replace("_", "-")
    purl = f"pkg:pypi/{name}@{item.version}"
    return _component("library", item.name, item.version, item.licence, purl)


def _part_component(item: Part) -> dict[str, Any]:
    purl = f"pkg:generic/{item.name.lower().replace(' ', '-')}@{item.version}"
    return _component(item.kind, item.name, item.version or "", item.licence, purl)


def _component(kind: str, name: str, version: str, licence: str, purl: str) -> dict[str, Any]:
    licences = {"licenses": [{"expression": licence}]} if licence else {}
    return {"type": kind, "name": name, "version": version, **licences, "bom-ref": purl, "purl": purl}


_FONT_TABLE = struct.Struct(">4s3I")  # an entry of the table directory of OpenType: tag, sum, offset, length
_REVISION_UNIT = 1 << 16  # fontRevision is a 16.16 fixed-point number


def font_version(folder: Path, family: str) -> str | None:
    """Return the version in table `head` of a font family, None when none of its files is there.

    Args:
        folder: Where the fonts are.
        family: The start of their file names.
    """
    path = next(iter(sorted(folder.glob(f"{family}-*.[ot]tf"))), None)
    return None if path is None else _revision(path.read_bytes())


def _revision(data: bytes) -> str | None:
    (tables,) = struct.unpack_from(">H", data, 4)
    for index in range(tables):
        tag, _, offset, _ = _FONT_TABLE.unpack_from(data, 12 + index * _FONT_TABLE.size)
        if tag == b"head":
            return f"{struct.unpack_from('>i', data, offset + 4)[0] / _REVISION_UNIT:.3f}"
    return None


NOTICE = "README.txt"
"""The file that says whose texts these are, and the rights that the LGPL gives."""
_LICENCE_NAME = re.compile(r"licen[cs]e|copying|notice|authors", re.IGNORECASE)
_TEXTS = Path(__file__).resolve().parent.parent / "licences"
_PROJECT = _TEXTS.parents[1]

# Wheels that carry no text of their licence.
_WHEELS_WITHOUT_TEXT = {
    "latex2mathml": ("MIT.txt",),
    "pyside6_essentials": ("LGPL-3.0.txt", "GPL-3.0.txt"),  # the first refers to the second
    "sentencepiece": ("Apache-2.0.txt",),
    "shiboken6": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "tokenizers": ("Apache-2.0.txt",),
}
# Parts that come with the interpreter and with our resources.
_OTHER_TEXTS = {
    "ncurses": ("ncurses.txt",),
    "openssl": ("Apache-2.0.txt",),
    "starter-model": ("Apache-2.0.txt",),
}


class NoLicenceError(ValueError):
    """A wheel has no licence text, and we know of none for it."""


def collect_licences(layout: Layout) -> None:
    """Put the licence texts into the app, in a folder for each part.

    Raises:
        NoLicenceError: There is none for a wheel.
    """
    layout.licences.mkdir(parents=True)
    shutil.copyfile(_TEXTS / NOTICE, layout.licences / NOTICE)
    for distribution in shipped(layout):
        _collect_wheel(layout, distribution)
    for name, texts in _OTHER_TEXTS.items():
        _copy_texts(layout.licences / name, texts)
    _copy_text(layout.stdlib / "LICENSE.txt", layout.licences / "python")
    for path in (layout.site / "resources" / "fonts").glob("*OFL*"):
        _copy_text(path, layout.licences / "fonts")


def _collect_wheel(layout: Layout, distribution: Distribution) -> None:
    folder = layout.licences / distribution.key
    for path in distribution.folder.rglob("*"):
        if path.is_file() and _LICENCE_NAME.search(path.name):
            _copy_text(path, folder)
    if not folder.exists():
        if distribution.key not in _WHEELS_WITHOUT_TEXT:
            raise NoLicenceError(f"{distribution.name} {distribution.version} ({distribution.licence})")
        _copy_texts(folder, _WHEELS_WITHOUT_TEXT[distribution.key])


def _copy_texts(folder: Path, texts: tuple[str, ...]) -> None:
    for name in texts:
        # Ours is the text of the Apache licence itself.
        source = _PROJECT / "LICENSE" if name == "Apache-2.0.txt" else _TEXTS / name
        _copy_text(source, folder, name)


def _copy_text(path: Path, folder: Path, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (name or path.name)
    while target.exists():  # the same name from another folder
        target = target.with_name(f"_{target.name}")
    shutil.copyfile(path, target)
