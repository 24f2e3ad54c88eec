"""Has Apple look at the signed app, and fastens the answer to it; needs Apple's tools and an account there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.signing import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
