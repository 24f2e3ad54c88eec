"""Info.plist and the icon: what macOS reads and shows of the app."""

from __future__ import annotations

import plistlib
import struct
import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPixmap

from app.palette import LIGHT, IconSet
from mtplx_bundle.layout import MINIMUM_MACOS
from mtplx_engine.paths import APP_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_bundle.layout import Layout


_FOLDERS = ("DesktopFolder", "DocumentsFolder", "DownloadsFolder", "NetworkVolumes", "RemovableVolumes")
_USAGE = "MTPLX reads the files that you attach and the models that you keep there."
IDENTIFIER = "local.MTPLX"
"""Nobody's domain or account: a release takes one of its publisher's, once and for all."""


def write_info_plist(layout: Layout, version: str) -> None:
    """Write Info.plist.

    Args:
        layout: The app.
        version: As in pyproject.toml.
    """
    layout.plist.write_bytes(plistlib.dumps(info_plist(version)))


def info_plist(version: str) -> dict[str, object]:
    """Return the keys of Info.plist."""
    return {
        "CFBundleAllowMixedLocalizations": True,  # the system's own panels speak the user's language
        "CFBundleDevelopmentRegion": "en",
        "CFBundleDisplayName": APP_NAME,
        "CFBundleExecutable": APP_NAME,
        "CFBundleIconFile": APP_NAME,
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": APP_NAME,
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "ITSAppUsesNonExemptEncryption": False,
        "LSApplicationCategoryType": "public.app-category.productivity",
        "LSArchitecturePriority": ["arm64"],
        "LSMinimumSystemVersion": MINIMUM_MACOS,
        "LSRequiresNativeExecution": True,
        **{f"NS{folder}UsageDescription": _USAGE for folder in _FOLDERS},
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": "Apache-2.0. Licences of all parts are inside the app.",
        "NSPrincipalClass": "NSApplication",
        "NSSupportsAutomaticGraphicsSwitching": True,
    }


# An icns file is a header and chunks, each a type of four letters, its length and here a PNG; which type stands for
# which size is Apple's.
_TILE = 824 / 896  # Apple's tile in a picture of 1024, by ours
_PNG = b"\x89PNG\r\n\x1a\n"
_IHDR = 24  # up to and with width and height
ICON_SIZES = {
    b"icp4": 16,
    b"ic11": 32,  # of 16 points on a Retina screen
    b"icp5": 32,
    b"ic12": 64,
    b"ic07": 128,
    b"ic13": 256,
    b"ic08": 256,
    b"ic14": 512,
    b"ic09": 512,
    b"ic10": 1024,
}
"""Width of the picture of each type."""


def write_icon(path: Path) -> None:
    """Paint the icon in each size and write it to `path`."""
    pictures = {size: _png(size) for size in set(ICON_SIZES.values())}
    path.write_bytes(icns({kind: pictures[size] for kind, size in ICON_SIZES.items()}))


def icns(pictures: Mapping[bytes, bytes]) -> bytes:
    """Return an icns file.

    Args:
        pictures: PNGs by their type.
    """
    body = b"".join(kind + struct.pack(">I", len(png) + 8) + png for kind, png in pictures.items())
    return b"icns" + struct.pack(">I", len(body) + 8) + body


def is_whole_icon(data: bytes) -> bool:
    """Whether an icns file holds a PNG of each size, to its last byte."""
    if data[:4] != b"icns" or int.from_bytes(data[4:8]) != len(data):
        return False
    found, at = {}, 8
    while at + 32 <= len(data):
        kind, length = struct.unpack_from(">4sI", data, at)
        found[kind] = data[at + 8 : at + length]
        at += max(length, 8)
    if at != len(data) or found.keys() != ICON_SIZES.keys():
        return False
    return all(
        len(png) > _IHDR
        and png.startswith(_PNG)
        and struct.unpack_from(">2I", png, _IHDR - 8) == (ICON_SIZES[kind],) * 2
        for kind, png in found.items()
    )


def _png(size: int) -> bytes:
    # Pixmaps need an application with a screen; the offscreen platform will do.
    _application = QGuiApplication.instance() or QGuiApplication([sys.argv[0], "-platform", "offscreen"])
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    inner = size * _TILE
    at = QRectF((size - inner) / 2, (size - inner) / 2, inner, inner)
    drawn = IconSet().pixmap("app", LIGHT.accent, size, 1)
    painter.drawPixmap(at, drawn, QRectF(drawn.rect()))
    painter.end()
    picture.save(buffer, "PNG")
    return bytes(buffer.data().data())
