"""What is shipped, by name, version and licence."""

from __future__ import annotations

import json
import struct

import pytest
from PySide6.QtGui import QRawFont

from mtplx_bundle import inventory, wheels
from mtplx_bundle.inventory import Part
from mtplx_bundle.layout import Layout
from mtplx_engine import paths
from tests.support.tiny_app import put

APACHE = "Classifier: License :: OSI Approved :: Apache Software License"


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path / "MTPLX.app")


def install(layout: Layout, name: str, *lines: str) -> None:
    about = "\n".join((f"Name: {name}", "Version: 1.2", *lines, "", "What it is."))
    put(layout.site / f"{name.lower()}-1.2.dist-info" / "METADATA", about.encode())


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        (("License-Expression: MIT AND Zlib",), "MIT AND Zlib"),
        (("License: MIT",), "MIT"),
        (("License: 3-Clause BSD License",), "BSD-3-Clause"),
        ((APACHE,), "Apache-2.0"),
        (("License: A whole", "  text of", "  many lines", APACHE), "Apache-2.0"),
        ((), ""),
    ],
)
def test_the_licence_is_an_expression_or_nothing(layout, lines, licence):
    install(layout, "Helper", *lines)
    (found,) = wheels.shipped(layout)
    assert (found.name, found.version, found.key, found.licence) == ("Helper", "1.2", "helper", licence)


def test_our_version_is_the_one_of_our_wheel(layout):
    install(layout, "mtplx")
    install(layout, "zipp")
    assert wheels.own_version(layout) == "1.2"


def test_the_same_app_has_the_same_list_of_parts(layout):
    install(layout, "mtplx", "License: Apache-2.0")
    install(layout, "Odd_Name", "License: MIT")
    others = (Part("CPython", "3.11.9", "Python-2.0"), Part("OpenSSL", None, "Apache-2.0"))
    first = inventory.sbom(wheels.shipped(layout), others)
    assert first == inventory.sbom(wheels.shipped(layout), others)
    assert first["metadata"]["component"]["version"] == "1.2"
    assert [item["purl"] for item in first["components"]] == [
        "pkg:pypi/odd-name@1.2",
        "pkg:generic/cpython@3.11.9",
    ]
    assert first["components"][0]["licenses"] == [{"expression": "MIT"}]
    assert first["serialNumber"] != inventory.sbom(wheels.shipped(layout), ())["serialNumber"]
    json.dumps(first)


@pytest.fixture
def python(layout):
    put(layout.stdlib / "LICENSE.txt", b"PSF")
    put(layout.site / "resources" / "fonts" / "Inter-OFL.txt", b"OFL")
    return layout


def test_every_text_of_a_wheel_is_taken_whatever_its_folder(python):
    install(python, "helper")
    folder = python.site / "helper-1.2.dist-info"
    put(folder / "licenses" / "LICENSE", b"one")
    put(folder / "licenses" / "inner" / "LICENSE", b"two")
    put(folder / "RECORD", b"no licence")
    inventory.collect_licences(python)
    texts = [path.read_bytes() for path in (python.licences / "helper").iterdir()]
    assert sorted(texts) == [b"one", b"two"]
    assert (python.licences / "python" / "LICENSE.txt").read_bytes() == b"PSF"
    assert (python.licences / "fonts" / "Inter-OFL.txt").is_file()
    assert (python.licences / "README.txt").is_file()


def test_qt_has_its_licence_though_its_wheel_has_none(python):
    install(python, "PySide6_Essentials")
    inventory.collect_licences(python)
    text = (python.licences / "pyside6_essentials" / "LGPL-3.0.txt").read_text()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text


def test_a_wheel_of_which_no_licence_is_known_is_not_shipped(python):
    install(python, "newcomer", "License: MIT")
    with pytest.raises(inventory.NoLicenceError, match=r"newcomer 1.2 \(MIT\)"):
        inventory.collect_licences(python)


@pytest.mark.parametrize("family", ["Inter", "JetBrainsMono"])
def test_each_font_that_ships_says_its_version(qapp, family):
    folder = paths.resources() / "fonts"
    version = inventory.font_version(folder, family)
    for path in folder.glob(f"{family}-*tf"):
        head = bytes(QRawFont(str(path), 12).fontTable("head").data())  # as Qt reads it
        assert version == f"{struct.unpack_from('>i', head, 4)[0] / 65536:.3f}"


def test_a_font_that_is_not_there_has_none(tmp_path):
    assert inventory.font_version(tmp_path, "Inter") is None
