"""`mtplx models`: what is installed; joining a model with a head that comes in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.cli.session import open_session
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import installed, pair

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.models.installed import InstalledModel

SUMMARY = "list the installed models, join a model with its head"
EXAMPLES = """\
examples:
  mtplx models
  mtplx models --json
  mtplx models join ~/models/Qwen3.5-4B-MLX-4bit ~/models/Qwen3.5-4B-MTP-4bit --name qwen-4b
  mtplx models split qwen-4b
"""
_HEADINGS = ("NAME", "SIZE", "HEAD", "STATE", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_data_dir(parser)
    options.add_json(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    join = actions.add_parser("join", help="make one model of a model and the folder of its drafting head")
    join.add_argument("target", metavar="MODEL", help="an installed model or a model folder")
    join.add_argument("head", metavar="HEAD", help="a folder with only a drafting head, used where it is")
    join.add_argument(
        "--name", default="", help="what the pair is called (default: the model's name and +mtp)"
    )
    split = actions.add_parser("split", help="forget a joined pair; both folders stay as they are")
    split.add_argument("name", metavar="NAME", help="the pair")
    for action in (join, split):
        options.add_data_dir(action, again=True)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """List, join or split; returns the exit code.

    Raises:
        EngineError: Model and head cannot be joined, or there is no such pair.
    """
    console, data = Console(sys.stdout), paths.data_dir(arguments.data_dir)
    if arguments.action == "join":
        target, head = installed.resolve(arguments.target, data), installed.head_folder(arguments.head, data)
        folder = pair.join(target, head, data, arguments.name)
        _try(folder, data, new_engine)
        console.line(f"{folder.name} is ready: mtplx chat --model {folder.name}")
    elif arguments.action == "split":
        folder = installed.resolve(arguments.name, data)
        pair.split(folder)
        console.line(f"{folder.name} is forgotten; its model and its head are where they were.")
    else:
        _list(console, data, as_json=arguments.json)
    return 0


def _try(folder: Path, data: Path, new_engine: NewEngine) -> None:
    """Load a pair once, so that the head is tried on the model; it stays joined only when it can draft."""
    with contextlib.ExitStack() as undo:
        undo.callback(pair.split, folder)
        info = open_session(str(folder), "", data, new_engine).info
        if info.drafter == "mtp":
            undo.pop_all()
            return
    raise EngineError(ErrorKind.UNSUPPORTED, f"{info.drafter_note} Nothing was joined.")


def _list(console: Console, data: Path, *, as_json: bool) -> None:
    found = installed.models(data)
    if as_json:
        console.line(json.dumps({"models": [_as_json(model) for model in found]}, indent=1))
    elif found:
        for line in _table([_HEADINGS, *map(_row, found)]):
            console.line(line)
    else:
        console.line("No model is installed; `mtplx chat` sets up the starter model.")


def _row(model: InstalledModel) -> tuple[str, ...]:
    return (
        model.name,
        f"{model.size / 1e6:,.0f} MB",
        "mtp" if model.has_head else "none",
        "ready" if model.complete else "incomplete",
        str(model.path),
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _as_json(model: InstalledModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "title": model.title,
        "path": str(model.path),
        "size": model.size,
        "has_head": model.has_head,
        "complete": model.complete,
    }
