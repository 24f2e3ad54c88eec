"""Compiles the launchers for the target, and byte-compiles the modules, since a signed app must not be written to."""

from __future__ import annotations

import compileall
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING

from mtplx_bundle import macho
from mtplx_bundle.layout import MACOS, SDK

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout, Target


_SOURCE = Path(__file__).resolve().parent.parent / "launcher.c"


def compile_launchers(layout: Layout, target: Target, cache: Path) -> None:
    """Compile the launchers into the app.

    Args:
        layout: The app.
        target: What they are compiled for.
        cache: Folder for the cache of the compiler.

    Raises:
        CalledProcessError: The compiler refused.
    """
    for launcher, module in launcher_modules(layout).items():
        _compile_launcher(launcher, target, cache, module)
        if target is MACOS:  # where the compiler names the newest SDK that it knows
            launcher.write_bytes(macho.with_sdk(launcher.read_bytes(), SDK))


def launcher_modules(layout: Layout) -> dict[Path, str | None]:
    """Return the module that each launcher runs; None for the interpreter, which takes Python's command line."""
    return {
        layout.executable: "app",
        layout.command: "mtplx_engine.cli.entry",
        layout.interpreter: None,
    }


def _compile_launcher(launcher: Path, target: Target, cache: Path, module: str | None) -> None:
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


_WORKERS = 2
# Of hundreds of models a chat needs the one that is loaded, and of the hub's library the calls; compiled these would
# be a tenth of the app.
_RARELY_USED = re.compile(
    r"/transformers/(cli|data|distributed|exporters|loss|models/(?!auto/|encoder_decoder/)[^/]+|pipelines|quantizers)/"
    r"|/mlx_lm/(models|examples|tuner|quant)/"
    r"|/huggingface_hub/(cli|inference)/"
)


class BrokenSourceError(ValueError):
    """A module cannot be compiled; the compiler has printed which."""


def compiled_path(path: Path) -> Path:
    """Return the path of the compiled form of a module."""
    return path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc"


def is_rarely_used(path: Path) -> bool:
    """Whether a module is not compiled beforehand."""
    return _RARELY_USED.search(str(path)) is not None


def compile_modules(layout: Layout) -> None:
    """Byte-compile every module that is often used; the results hold no path of this machine.

    Raises:
        BrokenSourceError: A module has a syntax error.
    """
    done = compileall.compile_dir(
        layout.stdlib,
        quiet=1,
        workers=_WORKERS,
        rx=_RARELY_USED,
        stripdir=Path(layout.libraries),
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        raise BrokenSourceError(layout.stdlib)
