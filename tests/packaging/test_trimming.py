from __future__ import annotations

from mtplx_bundle import macho, trimming
from mtplx_bundle.layout import Layout
from mtplx_bundle.macho import ARM64, X86_64
from tests.support import tiny_macho
from tests.support.tiny_app import put
from tests.support.tiny_macho import Tiny

KEPT = (
    "PySide6/QtCore.abi3.so",
    "PySide6/QtSvg.abi3.so",
    "PySide6/Qt/lib/QtGui.framework/Versions/A/QtGui",
    "PySide6/Qt/plugins/imageformats/libqsvg.dylib",
    "PySide6/Qt/plugins/platforms/libqcocoa.dylib",
    "PySide6/support/__init__.py",
    "mlx/lib/mlx.metallib",
    "transformers/models/auto/modeling_auto.py",
    "transformers/models/llama/configuration_llama.py",
    "transformers/models/llama/tokenization_llama.py",
)
DROPPED = (
    "PySide6/Designer.app/Contents/MacOS/Designer",
    "PySide6/QtQml.abi3.so",
    "PySide6/QtCore.pyi",
    "PySide6/libpyside6qml.abi3.6.9.dylib",
    "PySide6/Qt/lib/QtQuickWidgets.framework/Versions/A/QtQuickWidgets",
    "PySide6/Qt/lib/libQt6Qml.so.6",
    "PySide6/Qt/plugins/imageformats/libqtiff.dylib",
    "PySide6/Qt/plugins/sqldrivers/libqsqlite.dylib",
    "PySide6/Qt/qml/Button.qml",
    ".lock",
    "bin/mlx_lm.chat",
    "mtplx-0.1.0.dist-info/direct_url.json",
    "mtplx-0.1.0.dist-info/uv_cache.json",
    "hf_xet/hf_xet.abi3.so",
    "hf_xet-1.8.0.dist-info/METADATA",
    "mlx/include/mlx/array.h",
    "numpy/_core/tests/test_umath.py",
    "transformers/models/albert/modeling_albert.py",
    "transformers/models/llama/modeling_llama.py",
    "transformers/models/audioflamingo3/processing_audioflamingo3.py",
)


def test_what_the_app_uses_stays_and_the_rest_goes(tmp_path):
    layout = Layout(tmp_path / "MTPLX.app")
    for name in KEPT + DROPPED:
        put(layout.site / name, b"x")
    trimming.trim(layout)
    assert [name for name in KEPT if not (layout.site / name).exists()] == []
    assert [name for name in DROPPED if (layout.site / name).exists()] == []


def test_what_is_left_out_is_known_by_its_name_alone():
    names = [name for name in KEPT + DROPPED if trimming.is_left_out(name)]
    assert names == list(DROPPED)


def test_fat_files_become_thin_and_others_stay(tmp_path):
    layout = Layout(tmp_path / "MTPLX.app")
    thin, other = Tiny().bytes(), Tiny(architecture=X86_64).bytes()
    fat = put(layout.site / "fat", tiny_macho.fat(other, thin, architectures=(X86_64, ARM64)))
    mine = put(layout.site / "thin", thin)
    script = put(layout.site / "script", b"#!/bin/sh\n")
    for path in (fat, mine, script):
        path.chmod(0o755)
    trimming.thin(layout)
    assert fat.read_bytes() == mine.read_bytes() == thin
    assert macho.images(fat.read_bytes())[0].architecture == ARM64
    assert script.read_bytes() == b"#!/bin/sh\n"
    assert {path.stat().st_mode & 0o777 for path in (fat, mine, script)} == {0o755}
