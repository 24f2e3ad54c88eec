"""`mtplx search`: models on the hub, and the ones that we recommend."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options, pull, table
from mtplx_engine.cli.console import Console
from mtplx_engine.hub import catalogue, search

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.hub.search import Hit

SUMMARY = "look for models on the hub"
EXAMPLES = """\
examples:
  mtplx search                # the models that we recommend; no network needed
  mtplx search qwen3.5 4b
  mtplx search qwen --json
"""
_HEADINGS = ("MODEL", "KIND", "DOWNLOADS", "UPDATED", "HEAD")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of a model's name")
    options.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; returns the exit code.

    Raises:
        EngineError: The hub cannot be asked.
    """
    console = Console(sys.stdout)
    if not arguments.words:
        _recommend(console, as_json=arguments.json)
        return 0
    connection = pull.connect(arguments, paths.data_dir(arguments.data_dir))
    found = search.search(connection, " ".join(arguments.words))
    if arguments.json:
        console.line(json.dumps({"models": [dataclasses.asdict(hit) for hit in found]}, indent=1))
    elif found:
        for line in table.lines([_HEADINGS, *map(_row, found)]):
            console.line(line)
    else:
        console.line(f"{connection.host} has no model in MLX form with these words; try fewer.")
    return 0


def _recommend(console: Console, *, as_json: bool) -> None:
    entries = catalogue.entries()
    if as_json:
        console.line(json.dumps({"models": [dataclasses.asdict(entry) for entry in entries]}, indent=1))
        return
    rows = [(entry.target, entry.title, entry.good_for) for entry in entries]
    for line in table.lines([("MODEL", "NAME", "GOOD FOR"), *rows]):
        console.line(line)


def _row(hit: Hit) -> tuple[str, ...]:
    entry = catalogue.entry_of(hit.id)
    kind = f"{hit.model_type or 'unknown'}{', gated' if hit.gated else ''}"
    return hit.id, kind, f"{hit.downloads:,}", hit.updated, entry.head if entry else ""
