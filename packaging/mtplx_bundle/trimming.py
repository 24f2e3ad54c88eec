"""Takes out of the wheels what the app never uses; the gates say when it was too much."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from mtplx_bundle import macho

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_bundle.layout import Layout

# The window is of QtWidgets, with QtSvg for its icons and QtNetwork for the lock of its data folder.
_UNUSED_QT = re.compile(
    r"(lib)?Qt6?(Concurrent|Designer|EglFS|ExampleIcons|Help|Labs|Pdf|PrintSupport|Qml|Quick|Sql|SvgWidgets|Test"
    r"|OpenGLWidgets|UiTools|VirtualKeyboard|WaylandCompositor|WebEngine|Xml)"
    r"|libpyside6qml|libqpdf|libqtvirtualkeyboard"
)
_PYSIDE = (
    "*.app",
    "*.pyi",
    "Qt/libexec",
    "Qt/metatypes",
    "Qt/plugins/designer",
    "Qt/plugins/egldeviceintegrations",
    "Qt/plugins/generic",
    "Qt/plugins/imageformats/libq[!s]*",  # answers show no pictures; our own are SVG
    "Qt/plugins/networkinformation",
    "Qt/plugins/qmllint",
    "Qt/plugins/qmltooling",
    "Qt/plugins/sqldrivers",
    "Qt/plugins/tls",  # what is fetched comes through Python
    "Qt/qml",
    "Qt/translations",
    "QtDBus.abi3.so",  # Python's way to libraries that Qt itself needs
    "QtOpenGL.abi3.so",
    "assistant",
    "balsam*",
    "designer",
    "doc",
    "glue",
    "include",
    "linguist",
    "lrelease",
    "lupdate",
    "qml*",
    "qsb",
    "rcc",
    "scripts",
    "svgtoqml",
    "typesystems",
    "uic",
)
_SITE = (
    "**/*.a",
    "**/*.lib",
    "**/*.pxd",
    "**/*.pyi",
    "**/*.pyx",
    "**/include",  # headers
    "**/share/cmake",
    "**/share/man",
    "**/tests",
    "apsw/sqlite_extra_binaries",
    "hf_xet*",  # downloads with code of its own; ours take plain HTTP
    "google/protobuf/compiler",
    "mlx/lib/cmake",
    "numpy/distutils",
    "numpy/f2py",
)
# Of its models transformers tokenizes; to run them would take torch, which is not there.
_TRANSFORMERS = (
    "feature_extraction",
    "image_processing",
    "modeling",
    "modular",
    "processing",
    "video_processing",
)


def trim(layout: Layout) -> None:
    """Take the unused parts of Qt and what only developers need out of the app."""
    for pattern in _PYSIDE:
        _remove(layout.site / "PySide6", pattern)
    for pattern in _SITE:
        _remove(layout.site, pattern)
    for folder in (layout.site / "transformers" / "models").glob("*/"):
        if folder.name != "auto":  # which lists what there is
            for name in _TRANSFORMERS:
                _remove(folder, f"{name}_*.py")
    for path in sorted((layout.site / "PySide6").rglob("*")):
        if path.exists() and _UNUSED_QT.match(path.name):
            _remove(path.parent, path.name)


def thin(layout: Layout) -> None:
    """Keep of every fat Mach-O file only what an Apple processor runs."""
    for path in layout.contents.rglob("*"):
        if path.is_file() and not path.is_symlink() and macho.is_macho(path):
            fat = path.read_bytes()
            thinned = macho.thinned(fat)
            if len(thinned) < len(fat):
                path.write_bytes(thinned)


def _remove(folder: Path, pattern: str) -> None:
    for path in list(folder.glob(pattern)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
