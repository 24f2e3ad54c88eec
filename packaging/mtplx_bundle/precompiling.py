"""Byte-compiles the app's modules, since a signed app must not be written to."""

from __future__ import annotations

import compileall
import re
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout


_WORKERS = 2
# Of hundreds of models a chat needs the one that is loaded, and of the hub's library the calls; compiled these would
# be a tenth of the app.
_SELDOM = re.compile(
    r"/transformers/(cli|data|distributed|exporters|loss|models/(?!auto/|encoder_decoder/)[^/]+|pipelines|quantizers)/"
    r"|/mlx_lm/(models|examples|tuner|quant)/"
    r"|/huggingface_hub/(cli|inference)/"
)


class BrokenSourceError(ValueError):
    """A module cannot be compiled; the compiler has said which."""


def compiled(path: Path) -> Path:
    """Return where the compiled form of a module belongs."""
    return path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc"


def is_seldom(path: Path) -> bool:
    """Whether a module is not compiled beforehand."""
    return _SELDOM.search(str(path)) is not None


def compile_all(layout: Layout) -> None:
    """Compile every module but those that are seldom needed; the results hold no path of this machine.

    Raises:
        BrokenSourceError: One of them is no Python.
    """
    done = compileall.compile_dir(
        layout.stdlib,
        quiet=1,
        workers=_WORKERS,
        rx=_SELDOM,
        stripdir=Path(layout.libraries),
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        raise BrokenSourceError(layout.stdlib)
