"""Lays the app out, step by step, the same for each target."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_bundle import compiling, inventory, metadata, release, runtime, trimming, wheels
from mtplx_bundle.layout import MACOS, Layout
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_bundle.layout import Target


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built.

    Attributes:
        target: For which system.
        folder: Gets `MTPLX.app` once it is finished; whatever was in it before is deleted then.
        cache: Keeps downloads for the next time.
        starter: The starter model, ready to use.
        python: An installed Python whose library is taken, None for python.org's from the locked wheel.
        identity: The Developer ID to sign for, None for nobody.
    """

    target: Target
    folder: Path
    cache: Path
    starter: Path
    python: Path | None
    identity: str | None


def assemble(order: Order, say: Callable[[str], None]) -> Layout:
    """Build the app and return where it is.

    Args:
        order: What is to be built.
        say: Told of each step that is done.

    Raises:
        CalledProcessError: One of the tools failed and has said why.
        NoLicenceError, BrokenSourceError, NotMachOError: Something that is to be shipped is not as it must be.
        UnfitPythonError: Python cannot be shipped as it is.
    """
    work = order.folder.with_name(f"{order.folder.name}-unfinished")
    layout, target = Layout(work / "MTPLX.app"), order.target
    shutil.rmtree(work, ignore_errors=True)
    order.cache.mkdir(parents=True, exist_ok=True)
    steps: dict[str, Callable[[], object]] = {
        "Python": lambda: _lay_python(order, layout, say),
        "wheels": lambda: wheels.install(layout, target, order.cache),
        "trimming": lambda: trimming.trim(layout),
        "thinning": lambda: trimming.thin(layout),
        "starter model": lambda: _lay_starter(order, layout),
        "launchers": lambda: compiling.compile_launchers(layout, target, order.cache),
        "licences": lambda: inventory.collect_licences(layout),
        "lists": lambda: _write_lists(order, layout),
        "compiling": lambda: compiling.compile_modules(layout),
        "modes": lambda: _set_modes(layout),
        "signing": lambda: _sign(order, layout),
    }
    for name, step in steps.items():
        started = time.monotonic()
        step()
        say(f"{name}: {time.monotonic() - started:.1f} s")
    shutil.rmtree(order.folder, ignore_errors=True)
    work.rename(order.folder)
    return Layout(order.folder / layout.root.name)


def _lay_python(order: Order, layout: Layout, say: Callable[[str], None]) -> None:
    if order.python is None:
        runtime.from_wheel(layout, order.target, order.cache)
    else:
        runtime.from_installation(layout, order.target, order.python)
    interpreter, modules = runtime.version(layout), _modules(order).version
    if interpreter != modules:
        difference = f"the interpreter is Python {interpreter}, the modules in Python are of {modules}"
        if order.identity is not None:
            raise runtime.UnfitPythonError(f"{difference}. For a release take both from one: --python DIR.")
        say(difference)


def _modules(order: Order) -> runtime.Modules:
    return runtime.running() if order.python is None else runtime.installed(order.python)


def _lay_starter(order: Order, layout: Layout) -> None:
    """Copy the starter model as it was installed, without files that its use has left beside it."""
    installed = manifest.read_manifest(order.starter)
    if installed is None:
        raise FileNotFoundError(order.starter / manifest.MANIFEST_NAME)
    layout.starter.mkdir(parents=True)
    names = [item.name for item in installed.files]
    for name in (*names, manifest.MANIFEST_NAME):  # the manifest is the newest
        shutil.copy2(order.starter / name, layout.starter / name)


def _write_lists(order: Order, layout: Layout) -> None:
    metadata.write_info_plist(layout, wheels.own_version(layout))
    metadata.write_icon(layout.icon)
    inventory.write_sbom(layout, _modules(order).version)


def _set_modes(layout: Layout) -> None:
    """Let everybody read and only the owner write, whatever the builder's umask and the wheels say."""
    for path in layout.root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _sign(order: Order, layout: Layout) -> None:
    if order.target is not MACOS:
        return
    if order.identity is None:
        release.sign_adhoc(layout)
    else:
        release.sign_for(layout, order.identity)
