"""`mtplx inspect`: whether a model is safe, complete, of a kind that drafts, and fits, without loading it."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths, words
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.models import fit, inspection, installed, machine
from mtplx_engine.models.probe_memory import ProbeMemory

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.models.fit import Fit
    from mtplx_engine.models.inspection import Inspection

SUMMARY = "check a model without loading it"
EXAMPLES = """\
examples:
  mtplx inspect smollm2-135m-instruct
  mtplx inspect ~/models/Qwen3.5-4B --context 32768 --json
exit code: 0 when this version loads the model, 1 otherwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME|PATH", help="an installed model or a model folder")
    options.add_context(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what is known of a model; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when there is no such model.
    """
    console = Console(sys.stdout)
    data = paths.data_dir(arguments.data_dir)
    found = inspection.inspect(installed.resolve(arguments.model, data), ProbeMemory(data))
    judged = fit.judge(found.footprint, arguments.context, machine.this()) if found.footprint else None
    if arguments.json:
        console.line(json.dumps(as_json(found, judged), indent=1))
    else:
        for line in lines(found, judged):
            console.line(line)
    return 0 if found.loads else 1


def lines(found: Inspection, judged: Fit | None) -> list[str]:
    """Return an inspection as text."""
    rows = [("model", found.name), ("folder", str(found.folder)), ("tier", str(found.tier))]
    rows += [("reason", found.reason), ("family", found.family or "unknown")]
    if found.head:
        rows.append(("head", f"{found.head.place}, {words.size(found.head.size)}"))
    if judged:
        rows += [("fit", str(judged.verdict)), ("memory", judged.in_words)]
    rows += [("note", note) for note in found.notes]
    return [f"{name:<8}{value}" for name, value in rows]


def as_json(found: Inspection, judged: Fit | None) -> dict[str, Any]:
    """Return an inspection as plain data."""
    head = found.head
    return {
        "name": found.name,
        "path": str(found.folder),
        "tier": found.tier,
        "reason": found.reason,
        "notes": found.notes,
        "family": found.family,
        "loads": found.loads,
        "head": head and {"source": head.place, "size": head.size},
        "fit": fit_as_json(judged) if judged else None,
    }


def fit_as_json(judged: Fit) -> dict[str, Any]:
    """Return a sum as plain data, in bytes."""
    return {"verdict": judged.verdict, "total": judged.total, **dataclasses.asdict(judged)}
