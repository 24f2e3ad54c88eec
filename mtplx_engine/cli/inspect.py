"""`mtplx inspect`: whether a model is safe, complete, of a kind that drafts, and fits, without loading it."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import remote_inspect, repository
from mtplx_engine.models import inspection, library, memory_fit
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.util import formatting, system

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.memory_fit import Fit


SUMMARY = "check a model without loading it"
EXAMPLES = """\
examples:
  mtplx inspect smollm2-135m-instruct
  mtplx inspect ~/models/Qwen3.5-4B --context 32768 --json
  mtplx inspect --hub mlx-community/Qwen3.5-4B-MLX-4bit    # before it is fetched
exit code: 0 when this version loads the model, 1 otherwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME|PATH|OWNER/MODEL", help="an installed model or a model folder")
    parser.add_argument("--hub", action="store_true", help="ask the hub about a model that is not installed")
    options.add_context(parser)
    options.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what is known of a model; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when there is no such model.
    """
    console = Console(sys.stdout)
    data = paths.data_dir(arguments.data_dir)
    looked = _look(arguments, data) if arguments.hub else None
    found = looked.found if looked else _inspect(arguments.model, data)
    judged = (
        memory_fit.judge_fit(found.footprint, arguments.context, system.this_machine())
        if found.footprint
        else None
    )
    notes = (*found.notes, *(looked.warnings if looked else ()), *_about_context(judged, arguments.context))
    if arguments.json:
        console.json(as_json(found, judged) | (_hub_as_json(looked) if looked else {}) | {"notes": notes})
    else:
        for name, value in (*_where(found, looked), *_rows(found, judged, looked)):
            console.line(f"{name:<8}{value}")
        for note in notes:
            console.line(f"{'note':<8}{note}")
    return 0 if found.loads else 1


def _inspect(model: str, data: Path) -> Inspection:
    return inspection.inspect(_resolve(model, data), ProbeMemory(data), tensors=True)


def _resolve(model: str, data: Path) -> Path:
    """Return the folder of a model here; what may be one at the hub is never asked for without being told to."""
    try:
        return library.resolve_model(model, data)
    except EngineError as error:
        if not repository.is_repo(model) or error.kind is not ErrorKind.NOT_FOUND:
            raise
        sentence = f"{model} is not installed. Ask the hub about it with: mtplx inspect --hub {model}"
        raise EngineError(ErrorKind.NOT_FOUND, sentence) from error


def _look(arguments: argparse.Namespace, data: Path) -> RepoInspection:
    connection = options.connect(arguments, data)
    return options.look_at(connection, remote_inspect.plan_download(connection, arguments.model))


Rows = list[tuple[str, str]]


def _where(found: Inspection, looked: RepoInspection | None) -> Rows:
    if looked is None:
        return [("model", found.name), ("folder", str(found.folder))]
    target = looked.plan.target
    gated = ", gated: an account must accept the licence first" if target.gated else ""
    return [
        ("model", target.id),
        ("commit", target.revision),
        ("size", formatting.size(looked.plan.size)),
        ("licence", (target.licence or "not stated") + gated),
    ]


def _about_context(judged: Fit | None, asked: int) -> tuple[str, ...]:
    if judged is None or judged.context == asked:
        return ()
    return (
        f"Its context window has {judged.context} tokens, so it was judged for these and not for {asked}.",
    )


def _rows(found: Inspection, judged: Fit | None, looked: RepoInspection | None) -> Rows:
    reason = looked.reason if looked else found.reason
    rows = [("tier", str(found.tier)), ("reason", reason), ("family", found.family or "unknown")]
    if looked and looked.plan.head_repo:
        taken = "taken out of " if looked.plan.taken else ""
        added = formatting.size(looked.plan.head_size)
        rows.append(("head", f"{taken}{looked.plan.head_repo}, which adds {added}"))
    elif found.head:
        rows.append(("head", f"{found.head.place}, {formatting.size(found.head.size)}"))
    elif looked and found.loads:
        rows.append(("head", "none known"))
    if judged:
        rows += [("fit", str(judged.verdict)), ("memory", judged.in_words)]
    return rows


def _hub_as_json(looked: RepoInspection) -> dict[str, Any]:
    plan, target = looked.plan, looked.plan.target
    head = {"id": plan.head_repo, "size": plan.head_size, "taken_out": plan.taken is not None}
    return {
        "name": target.id,
        "path": None,
        "revision": target.revision,
        "licence": target.licence,
        "gated": target.gated,
        "size": plan.size,
        "head_repository": head if plan.head_repo else None,
        "reason": looked.reason,
        "fetched": looked.fetched,
    }


def as_json(found: Inspection, judged: Fit | None) -> dict[str, Any]:
    """Return an inspection as plain data."""
    head = found.head
    return {
        "name": found.name,
        "path": str(found.folder),
        "tier": found.tier,
        "reason": found.reason,
        "family": found.family,
        "loads": found.loads,
        "head": head and {"source": head.place, "size": head.size},
        "fit": fit_as_json(judged) if judged else None,
    }


def fit_as_json(judged: Fit) -> dict[str, Any]:
    """Return a sum as plain data, in bytes."""
    return {"verdict": judged.verdict, "total": judged.total, **dataclasses.asdict(judged)}
