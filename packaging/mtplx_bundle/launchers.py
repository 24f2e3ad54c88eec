"""Compiles the app's launchers, for this machine or for a Mac alike."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.target import Target

_SOURCE = Path(__file__).resolve().parent.parent / "launcher.c"


def compile_all(layout: Layout, target: Target) -> None:
    """Put the launchers into the app.

    Raises:
        CalledProcessError: The compiler refused.
    """
    _compile(layout.executable, target, "app")
    _compile(layout.command, target, "mtplx_engine.cli.entry")
    _compile(layout.interpreter, target, None)


def _compile(launcher: Path, target: Target, module: str | None) -> None:
    """Compile one launcher.

    Args:
        launcher: Where it goes.
        target: What it is compiled for.
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
    subprocess.run([*command, str(_SOURCE), "-o", str(launcher)], check=True)
