"""`mtplx models`: what is installed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.models import installed

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.models.installed import InstalledModel

SUMMARY = "list the installed models"
EXAMPLES = """\
examples:
  mtplx models
  mtplx models --json
"""
_HEADINGS = ("NAME", "SIZE", "HEAD", "STATE", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the models; returns the exit code."""
    console = Console(sys.stdout)
    found = installed.models(paths.data_dir(arguments.data_dir))
    if arguments.json:
        console.line(json.dumps({"models": [_as_json(model) for model in found]}, indent=1))
    elif found:
        for line in _table([_HEADINGS, *map(_row, found)]):
            console.line(line)
    else:
        console.line("No model is installed; `mtplx chat` sets up the starter model.")
    return 0


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
