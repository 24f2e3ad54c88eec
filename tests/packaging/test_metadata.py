from __future__ import annotations

import struct

import pytest
from PySide6.QtGui import QImage

from mtplx_bundle import metadata


def test_every_size_of_the_icon_is_in_the_file(qapp, tmp_path):
    metadata.write_icon(tmp_path / "MTPLX.icns")
    data = (tmp_path / "MTPLX.icns").read_bytes()
    assert data[:8] == b"icns" + struct.pack(">I", len(data))
    sizes, at = {}, 8
    while at < len(data):
        kind, length = struct.unpack_from(">4sI", data, at)
        picture = QImage.fromData(data[at + 8 : at + length], "PNG")
        assert picture.width() == picture.height()
        assert picture.pixelColor(picture.width() // 2, picture.height() // 8).alpha() == 255  # no empty picture
        sizes[kind] = picture.width()
        at += length
    assert sizes[b"ic10"] == 1024
    assert sizes[b"icp4"] == 16
    assert set(sizes.values()) == {16, 32, 64, 128, 256, 512, 1024}
    whole = QImage.fromData(data[data.index(b"ic10") + 8 :], "PNG")
    row = [whole.pixelColor(x, 512).alpha() > 127 for x in range(1024)]
    assert row.index(True) == pytest.approx(100, abs=2)  # Apple's grid: a tile of 824 in the middle
    assert row[::-1].index(True) == pytest.approx(100, abs=2)
    assert metadata.is_whole_icon(data)
    assert not metadata.is_whole_icon(data[:-1])
