"""Installs the locked wheels and our own, and reads the metadata and the RECORD of those in the app."""

from __future__ import annotations

import base64
import csv
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle.layout import MINIMUM_MACOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.layout import Layout, Target


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


def _uv_install(layout: Layout, target: Target, cache: Path, requirements: list[str]) -> None:
    command = [_uv(), "pip", "install", "--quiet", "--target", str(layout.site), "--python-version", "3.11"]
    command += ["--no-deps", "--only-binary", ":all:", "--link-mode", "copy"]
    command += ["--cache-dir", str(cache / "uv")]
    if target.wheels is not None:
        command += ["--python-platform", target.wheels]
    # Without it uv takes the build for a newer macOS where there are several, as of mlx, which older ones refuse.
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MINIMUM_MACOS}
    subprocess.run([*command, *requirements], check=True, env=environment)


def _own_wheel(cache: Path) -> Path:
    folder = cache / "own"
    shutil.rmtree(folder, ignore_errors=True)
    command = [_uv(), "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(folder)]
    command += ["--cache-dir", str(cache / "uv"), "--python", sys.executable, str(_PROJECT)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def _uv() -> str:
    return str(Path(sys.executable).with_name("uv"))


OWN = "mtplx"
"""The key of our own wheel."""
_CLASSIFIERS = {  # for wheels that give no SPDX expression
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
}
_LICENCES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "any-OSI": "LicenseRef-any-OSI",
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed wheel.

    Attributes:
        name: Of the project, as its metadata spell it.
        version: Of the project.
        licence: An SPDX expression, "" when it gives none.
        folder: Its `.dist-info`.
    """

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def key(self) -> str:
        """The name in the form of file names, as in `pyside6_essentials`."""
        return self.folder.name.partition("-")[0]


def shipped(layout: Layout) -> tuple[Distribution, ...]:
    """Return the wheels in the app, by name."""
    return tuple(_read_metadata(folder) for folder in sorted(layout.site.glob("*.dist-info")))


def own_version(layout: Layout) -> str:
    """Return our version, from the metadata of our wheel."""
    return next(item.version for item in shipped(layout) if item.key == OWN)


def _read_metadata(folder: Path) -> Distribution:
    about = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))
    licence = about["License-Expression"] or ""
    if not licence:
        stated = (about["License"] or "").strip()
        classified = (_CLASSIFIERS[line] for line in about.get_all("Classifier", []) if line in _CLASSIFIERS)
        # A whole licence text stands there at times.
        licence = _LICENCES.get(stated, stated if stated and "\n" not in stated else next(classified, ""))
    return Distribution(about["Name"], about["Version"], licence, folder)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file of a wheel.

    Attributes:
        name: Its path below site-packages.
        sha256: The hash of its bytes, None for the record itself.
    """

    name: str
    sha256: bytes | None


def read_record(distribution: Distribution) -> Iterator[RecordedFile]:
    """Yield the files of an installed wheel, from its `RECORD`.

    Raises:
        OSError, ValueError: There is no record, or none that can be read.
    """
    with (distribution.folder / "RECORD").open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            name, checksum, _ = row
            kind, _, digest = checksum.partition("=")
            yield RecordedFile(name, base64.urlsafe_b64decode(f"{digest}=") if kind == "sha256" else None)
