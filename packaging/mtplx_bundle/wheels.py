"""Puts the locked wheels into the app, and our own packages as a wheel among them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.target import MINIMUM_MACOS

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.target import Target


_PROJECT = Path(__file__).resolve().parents[2]


def install(layout: Layout, target: Target, cache: Path) -> None:
    """Fill the app's site-packages from `requirements/run.txt` and from this checkout.

    Args:
        layout: The app.
        target: Whose wheels are taken.
        cache: Keeps the downloads.

    Raises:
        CalledProcessError: A wheel could not be fetched, is another one than was locked, or ours does not build.
    """
    locked = ["--require-hashes", "-r", str(_PROJECT / "requirements" / "run.txt")]
    _uv_install(layout, target, cache, locked)
    _uv_install(layout, target, cache, ["--no-index", str(_own_wheel(cache))])


def _uv_install(layout: Layout, target: Target, cache: Path, what: list[str]) -> None:
    command = [_uv(), "pip", "install", "--quiet", "--target", str(layout.site), "--python-version", "3.11"]
    command += [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--link-mode",
        "copy",
        "--cache-dir",
        str(cache / "uv"),
    ]
    if target.wheels is not None:
        command += ["--python-platform", target.wheels]
    # Without it uv takes the build for a newer macOS where there are several, as of mlx, which older ones refuse.
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MINIMUM_MACOS}
    subprocess.run([*command, *what], check=True, env=environment)


def _own_wheel(cache: Path) -> Path:
    folder = cache / "own"
    shutil.rmtree(folder, ignore_errors=True)
    command = [_uv(), "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(folder)]
    command += ["--cache-dir", str(cache / "uv"), "--python", sys.executable, str(_PROJECT)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def _uv() -> str:
    return str(Path(sys.executable).with_name("uv"))
