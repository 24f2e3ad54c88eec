"""`mtplx search`: models on the hub, and the ones that we recommend."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options, output
from mtplx_engine.cli.output import Console
from mtplx_engine.hub import catalogue, remote_inspect, search
from mtplx_engine.hub.errors import ON_THE_WAY, HubError
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.hub.catalogue import Entry
    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.search import Hit
    from mtplx_engine.util.formatting import Report


SUMMARY = "look for models on the hub"
EXAMPLES = """\
examples:
  mtplx search                # the models that we recommend; no network needed
  mtplx search qwen3.5 4b
  mtplx search qwen --max-gb 6     # the hub is asked for the size of each
  mtplx search qwen --json
"""
_HEADINGS = ("MODEL", "KIND", "DOWNLOADS", "UPDATED", "HEAD")
_GB = 1_000_000_000
# What a program reads of a model, recommended or found.
_UNKNOWN: dict[str, Any] = dict.fromkeys(
    (
        "id",
        "title",
        "good_for",
        "head",
        "model_type",
        "downloads",
        "likes",
        "gated",
        "updated",
        "size",
    )
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of a model's name")
    parser.add_argument(
        "--max-gb",
        type=options.above_0,
        metavar="N",
        help="only models of at most N GB, their drafting heads included",
    )
    options.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; returns the exit code.

    Raises:
        EngineError: The hub cannot be asked.
    """
    console = Console(sys.stdout)
    if not arguments.words and arguments.max_gb is None:
        _recommend(console, as_json=arguments.json)
        return 0
    connection = options.connect(arguments, paths.data_dir(arguments.data_dir))
    found = search.search(connection, " ".join(arguments.words))
    if found.odd:
        entries = "1 entry that makes" if found.odd == 1 else f"{found.odd} entries that make"
        Console(sys.stderr).line(f"{connection.host} lists {entries} no sense; left out.")
    hits, sizes = found.hits, None
    if arguments.max_gb is not None:
        sizes = _sizes(connection, hits, round(arguments.max_gb * _GB))
        hits = tuple(hit for hit in hits if hit.id in sizes)
    if arguments.json:
        console.json({"models": [_as_json(hit, sizes) for hit in hits]})
    elif hits:
        headings = (*_HEADINGS, "SIZE") if sizes else _HEADINGS
        for line in output.table_lines([headings, *(_row(hit, sizes) for hit in hits)]):
            console.line(line)
    else:
        more = "" if arguments.max_gb is None else f" and at most {arguments.max_gb:g} GB"
        console.line(f"{connection.host} has no model in MLX form with these words{more}; try fewer.")
    return 0


def _sizes(connection: HubConnection, hits: tuple[Hit, ...], most: int) -> dict[str, int]:
    """Return the bytes of the models that have at most so many; those that the hub refuses are told of.

    Raises:
        EngineError: The hub cannot be reached.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    sizes: dict[str, int] = {}
    refused = []

    def work(interrupt: CancelToken, report: Report) -> None:
        for place, hit in enumerate(hits):
            report(place / len(hits), f"Asking for sizes, {hit.id}")
            try:
                size = remote_inspect.plan_download(connection, hit.id, interrupt=interrupt).size
            except HubError as error:
                if error.problem in ON_THE_WAY:
                    raise
                refused.append(str(error))
                continue
            if size <= most:
                sizes[hit.id] = size

    output.ask(work)
    for sentence in refused:
        Console(sys.stderr).line(sentence)
    return sizes


def _recommend(console: Console, *, as_json: bool) -> None:
    entries = catalogue.entries()
    if as_json:
        console.json({"models": [_UNKNOWN | _of_entry(entry) for entry in entries]})
        return
    rows = [(entry.target, entry.title, entry.good_for) for entry in entries]
    for line in output.table_lines([("MODEL", "NAME", "GOOD FOR"), *rows]):
        console.line(line)


def _of_entry(entry: Entry) -> dict[str, Any]:
    return {"id": entry.target, "title": entry.title, "good_for": entry.good_for, "head": entry.head or None}


def _as_json(hit: Hit, sizes: dict[str, int] | None) -> dict[str, Any]:
    """Return a hit with the same keys as a recommendation, null for what nobody has said."""
    entry = catalogue.entry_of(hit.id)
    size = sizes[hit.id] if sizes else None
    return _UNKNOWN | (_of_entry(entry) if entry else {}) | dataclasses.asdict(hit) | {"size": size}


def _row(hit: Hit, sizes: dict[str, int] | None) -> tuple[str, ...]:
    entry = catalogue.entry_of(hit.id)
    kind = f"{hit.model_type or 'unknown'}{', gated' if hit.gated else ''}"
    cells = (hit.id, kind, f"{hit.downloads:,}", hit.updated, entry.head if entry else "")
    return (*cells, formatting.size(sizes[hit.id])) if sizes else cells
