"""Signs, notarises and packs the app.

An ad-hoc signature lets the app run; macOS asks the user once, since nobody stands for it. A Developer ID adds the
hardened runtime and a time stamp, which a notarisation needs; it takes Apple's own tools, and so a Mac.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle import macho
from mtplx_bundle.metadata import IDENTIFIER

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
    for path in code_files(layout):
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


def code_files(layout: Layout) -> tuple[Path, ...]:
    """Return every Mach-O file of the app, by its content, but the launcher whose signature is the whole app's."""
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


def notarise(path: Path, profile: str, run: Callable[[Sequence[str]], None] = run) -> None:
    """Send an app or a disk image to Apple, wait for the answer, and staple it, so that it holds without a network.

    Args:
        path: The app or the image, signed for a Developer ID.
        profile: Name under which `xcrun notarytool store-credentials` has put the account into the keychain.
        run: Runs a command.

    Raises:
        CalledProcessError: Apple refused; `xcrun notarytool log` says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        sent = path
        if path.is_dir():
            sent = Path(folder, f"{path.stem}.zip")
            run(["ditto", "-c", "-k", "--keepParent", str(path), str(sent)])
        run(["xcrun", "notarytool", "submit", str(sent), "--keychain-profile", profile, "--wait"])
    run(["xcrun", "stapler", "staple", str(path)])


_LINK = 0o120000


def make_zip(layout: Layout, path: Path) -> Path:
    """Pack the app into a zip that keeps modes and links; return its path.

    Args:
        layout: The app.
        path: Of the zip.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for item in sorted(layout.root.rglob("*")):
            name = str(item.relative_to(layout.root.parent))
            if item.is_symlink():
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3  # Unix, where the mode below means something
                entry.external_attr = (_LINK | 0o777) << 16
                archive.writestr(entry, str(item.readlink()))
            elif item.is_file():
                archive.write(item, name)
    return path


def make_disk_image(layout: Layout, path: Path, run: Callable[[Sequence[str]], None] = run) -> Path:
    """Pack the app into a disk image with a link to Applications beside it; needs a Mac. Return its path.

    Args:
        layout: The app.
        path: Of the image.
        run: Runs a command.
    """
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder, layout.root.stem)
        staged.mkdir()
        shutil.copytree(layout.root, staged / layout.root.name, symlinks=True)
        (staged / "Applications").symlink_to("/Applications")
        command = ["hdiutil", "create", "-quiet", "-ov", "-format", "UDZO", "-fs", "HFS+"]
        run([*command, "-volname", layout.root.stem, "-srcfolder", str(staged), str(path)])
    return path
