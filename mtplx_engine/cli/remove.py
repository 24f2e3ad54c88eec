"""`mtplx remove`: delete an installed model, or what has arrived of one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import download
from mtplx_engine.hub import plan as plans
from mtplx_engine.models import library
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.hub.download import Unfinished
    from mtplx_engine.models.folders import InstalledModel


SUMMARY = "delete an installed model, or what has arrived of one"
EXAMPLES = """\
examples:
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit --yes    # without being asked
  mtplx remove OWNER--MODEL                                # a download that is paused
Only what MTPLX installed is ever deleted, never models of your own.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME", help="a model or a download, as `mtplx models` lists it")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_data_dir(parser)
    options.add_json(parser, "print one JSON object instead of text, and do not ask")


def run(arguments: argparse.Namespace) -> int:
    """Delete a model, or a download that was begun; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when it is not installed; BAD_REQUEST, when it is not certain which one is meant;
            STORAGE, when it cannot be deleted.
    """
    data = paths.data_dir(arguments.data_dir)
    console = Console(sys.stdout)
    begun = download.unfinished_called(arguments.model, data)
    try:
        model = library.find_model(arguments.model, data)
    except EngineError as error:
        if error.kind is not ErrorKind.NOT_FOUND or begun is None:
            raise
        discard(begun, data, as_json=arguments.json)
        return 0
    asks = sys.stdin.isatty() and console.terminal and not arguments.json
    if not model.place and not (arguments.yes or _is_sure(model, arguments.model, console, asks=asks)):
        console.line("Nothing was deleted.")
        return 1
    freed = library.remove_model(model.path, data)
    if arguments.json:
        console.json({"name": model.name, "path": str(model.path), "freed": freed})
    else:
        console.line(f"{model.name} is deleted; {formatting.size(freed)} are free again.")
    return 0


def discard(begun: Unfinished, data: Path, *, as_json: bool) -> None:
    """Delete what has arrived of a model, and say so.

    Raises:
        HubError: BUSY, while a program fetches it.
    """
    download.discard(data, begun.plan)
    console, name = Console(sys.stdout), begun.plan.id
    if as_json:
        path = plans.staging(data, name, begun.plan.home)
        console.event(event="discarded", name=name, path=str(path), freed=begun.present)
    else:
        console.line(f"What had arrived of {name} ({begun.amount}) is deleted.")


def _is_sure(model: InstalledModel, typed: str, console: Console, *, asks: bool) -> bool:
    """Return what the person says to it; where nobody can be asked, the model's own name is enough.

    Raises:
        EngineError: BAD_REQUEST, when nobody can be asked about another name.
    """
    if asks:
        console.line(
            f"Delete {model.name} ({formatting.size(model.size)}, in {model.path.parent})? y for yes:"
        )
        return sys.stdin.readline().strip().casefold() in ("y", "yes")
    if typed in (model.name, os.fspath(model.path)):
        return True
    raise EngineError(
        ErrorKind.BAD_REQUEST,
        f"{typed} is {model.name}, in {model.path.parent}. Nothing was deleted: give that name, or add --yes.",
    )
