"""`mtplx inspect`: whether a model is safe, complete and of a kind that drafts, without loading it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.console import Console
from mtplx_engine.models import inspection, installed
from mtplx_engine.models.probe_memory import ProbeMemory

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.models.inspection import Inspection

SUMMARY = "check a model without loading it"
EXAMPLES = """\
examples:
  mtplx inspect smollm2-135m-instruct
  mtplx inspect ~/models/Qwen3.5-4B --json
exit code: 0 when this version loads the model, 1 otherwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME|PATH", help="an installed model or a model folder")
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
    if arguments.json:
        console.line(json.dumps(_as_json(found), indent=1))
    else:
        for line in _lines(found):
            console.line(line)
    return 0 if found.loads else 1


def _lines(found: Inspection) -> list[str]:
    rows = [("model", found.name), ("folder", str(found.folder)), ("tier", str(found.tier))]
    rows += [("reason", found.reason), ("family", found.family or "unknown")]
    if found.head:
        rows.append(("head", f"{found.head.place}, {_megabytes(found.head.size)}"))
    if need := found.memory:
        parts = (
            f"weights {_megabytes(need.weights)}, {need.context} tokens of context {_megabytes(need.cache)}"
        )
        rows.append(("memory", f"{_megabytes(need.total)}: {parts}"))
    rows += [("note", note) for note in found.notes]
    return [f"{name:<8}{value}" for name, value in rows]


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _as_json(found: Inspection) -> dict[str, Any]:
    head, memory = found.head, found.memory
    return {
        "name": found.name,
        "path": str(found.folder),
        "tier": found.tier,
        "reason": found.reason,
        "notes": found.notes,
        "family": found.family,
        "loads": found.loads,
        "head": head and {"source": head.place, "size": head.size},
        "memory": memory
        and {
            "weights": memory.weights,
            "context": memory.context,
            "cache": memory.cache,
            "total": memory.total,
        },
    }
