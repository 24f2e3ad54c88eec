"""`mtplx remove`: delete an installed model."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths, words
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import installed

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.models.installed_model import InstalledModel

SUMMARY = "delete an installed model"
EXAMPLES = """\
examples:
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit --yes    # without being asked
Only what MTPLX installed is ever deleted, never models of your own.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME", help="an installed model, as `mtplx models` lists it")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Delete a model; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when it is not installed; BAD_REQUEST, when it is not certain which one is meant;
            STORAGE, when it cannot be deleted.
    """
    data = paths.data_dir(arguments.data_dir)
    model, console = installed.find(arguments.model, data), Console(sys.stdout)
    if not model.place and not (arguments.yes or _is_sure(model, arguments.model, console)):
        console.line("Nothing was deleted.")
        return 1
    freed = installed.remove(model.path, data)
    console.line(f"{model.name} is deleted; {words.size(freed)} are free again.")
    return 0


def _is_sure(model: InstalledModel, typed: str, console: Console) -> bool:
    """Return what the person says to it; where nobody can be asked, the model's own name is enough.

    Raises:
        EngineError: BAD_REQUEST, when nobody can be asked about another name.
    """
    if sys.stdin.isatty() and console.terminal:
        console.line(f"Delete {model.name} ({words.size(model.size)}, in {model.path.parent})? y for yes:")
        return sys.stdin.readline().strip().casefold() in ("y", "yes")
    if typed in (model.name, os.fspath(model.path)):
        return True
    raise EngineError(
        ErrorKind.BAD_REQUEST,
        f"{typed} is {model.name}, in {model.path.parent}. Nothing was deleted: give that name, or add --yes.",
    )
