from __future__ import annotations

import struct

import pytest
from PySide6.QtGui import QRawFont

from mtplx_bundle import fonts
from mtplx_engine import paths


@pytest.mark.parametrize("family", ["Inter", "JetBrainsMono"])
def test_each_font_that_ships_says_its_version(qapp, family):
    folder = paths.resources() / "fonts"
    version = fonts.version(folder, family)
    for path in folder.glob(f"{family}-*tf"):
        head = bytes(QRawFont(str(path), 12).fontTable("head").data())  # as Qt reads it
        assert version == f"{struct.unpack_from('>i', head, 4)[0] / 65536:.3f}"


def test_a_font_that_is_not_there_has_none(tmp_path):
    assert fonts.version(tmp_path, "Inter") is None
