"""Removes from the wheels what the app never uses; the gates report when it was too much."""

from __future__ import annotations

import functools
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mtplx_bundle import macho

if TYPE_CHECKING:
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
    "*.dist-info/direct_url.json",  # where the installer found it, on this machine
    "*.dist-info/uv_cache.json",
    ".lock",  # the installer's
    "**/*.a",
    "**/*.lib",
    "**/*.pxd",
    "**/*.pyi",
    "**/*.pyx",
    "**/include",  # headers
    "**/share/cmake",
    "**/share/man",
    "**/tests",
    "bin",  # scripts that name this machine's Python
    "apsw/sqlite_extra_binaries",
    "hf_xet*",  # downloads with code of its own; ours take plain HTTP
    "google/protobuf/compiler",
    "mlx/lib/cmake",
    "numpy/distutils",
    "numpy/f2py",
)
# Of its models transformers tokenizes; to run them would take torch, which is not there.
_TRANSFORMERS = re.compile(
    r"transformers/models/(?!auto/)[^/]+/"  # which lists what there is
    r"(feature_extraction|image_processing|modeling|modular|processing|video_processing)_[^/]*\.py"
)
_PATTERNS = tuple(tuple(pattern.split("/")) for pattern in (*(f"PySide6/{name}" for name in _PYSIDE), *_SITE))


def trim(layout: Layout) -> None:
    """Remove the unused parts of Qt, and files for developers only."""
    for path in sorted(layout.site.rglob("*")):
        if is_left_out(str(path.relative_to(layout.site))) and (path.is_symlink() or not path.is_dir()):
            path.unlink()
    for path in sorted(layout.site.rglob("*/"), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def is_left_out(name: str) -> bool:
    """Whether a file is left out of the app, by itself or with a folder above it.

    Args:
        name: Its path below site-packages.
    """
    folder, _, last = name.rpartition("/")
    if folder and _is_folder_left_out(folder):
        return True
    if name.startswith("PySide6/") and _UNUSED_QT.match(last):
        return True
    parts = tuple(name.split("/"))
    return bool(_TRANSFORMERS.fullmatch(name)) or any(_matches(parts, pattern) for pattern in _PATTERNS)


@functools.cache
def _is_folder_left_out(name: str) -> bool:
    return is_left_out(name)


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if pattern[0] == "**":
        pattern = pattern[1:]
        parts = parts[-len(pattern) :]
    return len(parts) == len(pattern) and all(map(fnmatchcase, reversed(parts), reversed(pattern)))


def thin(layout: Layout) -> None:
    """Reduce every fat Mach-O file to its arm64 image."""
    for path in layout.contents.rglob("*"):
        if path.is_file() and not path.is_symlink() and macho.is_macho(path):
            fat = path.read_bytes()
            thinned = macho.thinned(fat)
            if len(thinned) < len(fat):
                path.write_bytes(thinned)
