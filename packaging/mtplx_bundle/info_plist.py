"""What macOS reads about the app."""

from __future__ import annotations

import plistlib
from typing import TYPE_CHECKING

from mtplx_bundle.target import MINIMUM_MACOS
from mtplx_engine.paths import APP_NAME

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout


_ASKED = ("DesktopFolder", "DocumentsFolder", "DownloadsFolder", "NetworkVolumes", "RemovableVolumes")
_WHY = "MTPLX reads the files that you attach and the models that you keep there."
IDENTIFIER = "local.MTPLX"
"""Nobody's domain or account: a release takes one of its publisher's, once and for all."""


def write(layout: Layout, version: str) -> None:
    """Write Info.plist.

    Args:
        layout: The app.
        version: As in pyproject.toml.
    """
    layout.plist.write_bytes(plistlib.dumps(entries(version)))


def entries(version: str) -> dict[str, object]:
    """Return what stands in Info.plist."""
    return {
        "CFBundleAllowMixedLocalizations": True,  # the system's own panels speak the person's language
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
        **{f"NS{place}UsageDescription": _WHY for place in _ASKED},
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": "Apache-2.0. Licences of all parts are inside the app.",
        "NSPrincipalClass": "NSApplication",
        "NSSupportsAutomaticGraphicsSwitching": True,
    }
