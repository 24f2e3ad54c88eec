"""`mtplx remove`: delete an installed model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths, words
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.models import installed

if TYPE_CHECKING:
    import argparse

SUMMARY = "delete an installed model"
EXAMPLES = """\
examples:
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit
Only models in the data folder are ever deleted, never folders elsewhere.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME", help="an installed model, as `mtplx models` lists it")
    options.add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Delete a model; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when it is not installed; STORAGE, when it cannot be deleted.
    """
    freed = installed.remove(arguments.model, paths.data_dir(arguments.data_dir))
    Console(sys.stdout).line(f"Deleted; {words.size(freed)} are free again.")
    return 0
