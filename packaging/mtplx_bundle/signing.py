"""Signs the app: for nobody on any system, or for a Developer ID with Apple's own tool on a Mac.

An ad-hoc signature lets the app run; macOS asks the person once, since nobody stands for it. A Developer ID adds the
hardened runtime and a time stamp, which a notarisation needs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle import macho
from mtplx_bundle.info_plist import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_bundle.layout import Layout


def sign_adhoc(layout: Layout) -> None:
    """Sign every Mach-O file in the app and seal the rest, for nobody; works on any system."""
    import apple_platform

    apple_platform.sign(layout.root, binary_identifier=IDENTIFIER)


def run(command: Sequence[str]) -> None:
    """Run one of Apple's tools.

    Raises:
        CalledProcessError: It failed.
    """
    subprocess.run(command, check=True)


def sign_for(layout: Layout, identity: str, run: Callable[[Sequence[str]], None] = run) -> None:
    """Sign the app for a Developer ID, from the inside out; needs Apple's codesign.

    Args:
        layout: The app.
        identity: Name of the certificate in the keychain, as in "Developer ID Application: NAME (TEAM)".
        run: Runs a command.

    Raises:
        CalledProcessError: codesign refused.
    """
    for path in code(layout):
        _sign_alone(path, identity, run)
    run([*_codesign(identity), "--identifier", IDENTIFIER, str(layout.root)])


def sign_image(path: Path, identity: str, run: Callable[[Sequence[str]], None] = run) -> None:
    """Sign a disk image for a Developer ID; needs Apple's codesign.

    Args:
        path: The image.
        identity: Name of the certificate in the keychain.
        run: Runs a command.

    Raises:
        CalledProcessError: codesign refused.
    """
    run(["codesign", "--force", "--timestamp", "--sign", identity, str(path)])


def code(layout: Layout) -> tuple[Path, ...]:
    """Return every Mach-O file of the app but the one that stands for the whole app, by what is in it."""
    files = sorted(path for path in layout.contents.rglob("*") if path.is_file() and not path.is_symlink())
    return tuple(path for path in files if path != layout.executable and macho.is_macho(path))


def _sign_alone(path: Path, identity: str, run: Callable[[Sequence[str]], None]) -> None:
    """Sign a file outside its folder: inside a framework codesign would take it for the whole framework."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        shutil.copy2(path, copy)
        run([*_codesign(identity), "--identifier", f"{IDENTIFIER}.{path.name}", str(copy)])
        shutil.copy2(copy, path)


def _codesign(identity: str) -> list[str]:
    return ["codesign", "--force", "--options", "runtime", "--timestamp", "--sign", identity]
