"""Compiles the app's launchers, for this machine or for a Mac alike."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle import macho
from mtplx_bundle.target import MACOS, SDK

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.target import Target


_SOURCE = Path(__file__).resolve().parent.parent / "launcher.c"


def compile_all(layout: Layout, target: Target, cache: Path) -> None:
    """Put the launchers into the app.

    Args:
        layout: The app.
        target: What they are compiled for.
        cache: Keeps what the compiler keeps for the next time.

    Raises:
        CalledProcessError: The compiler refused.
    """
    for launcher, module in modules(layout).items():
        _compile(launcher, target, cache, module)
        if target is MACOS:  # where the compiler names the newest SDK that it knows
            launcher.write_bytes(macho.with_sdk(launcher.read_bytes(), SDK))


def modules(layout: Layout) -> dict[Path, str | None]:
    """Return what each launcher runs; None for whatever its command line says."""
    return {
        layout.executable: "app",
        layout.command: "mtplx_engine.cli.entry",
        layout.interpreter: None,
    }


def _compile(launcher: Path, target: Target, cache: Path, module: str | None) -> None:
    """Compile one launcher.

    Args:
        launcher: Where it goes.
        target: What it is compiled for.
        cache: The compiler's.
        module: What it runs; None for whatever its command line says.
    """
    launcher.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ziglang", "cc", "-O2", "-Wall", "-Werror", "-s"]
    if target.compiler is not None:
        command += ["-target", target.compiler]
    # The headers are those of this machine's Python: the structures of 3.11 are the same on both systems.
    command += ["-I", sysconfig.get_path("include"), f'-DMTPLX_PYTHON_LIBRARY="{target.python_library}"']
    if module is not None:
        command.append(f'-DMTPLX_MODULE="{module}"')
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache / "zig")}
    subprocess.run([*command, str(_SOURCE), "-o", str(launcher)], check=True, env=environment)
