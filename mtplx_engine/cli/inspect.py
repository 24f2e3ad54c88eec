"""`mtplx inspect`: whether a model is safe, complete, drafts and fits, without loading it; at the hub too."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import hub, options
from mtplx_engine.cli.options import Command
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import remote_inspect, repository
from mtplx_engine.models import inspection, library, memory_fit
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.util import formatting, system

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.memory_fit import Fit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="NAME|PATH|OWNER/MODEL", help="an installed model or a model folder")
    parser.add_argument("--hub", action="store_true", help="ask the hub about a model that is not installed")
    options.add_context(parser)
    hub.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def _run(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    console, data = Console(sys.stdout), paths.data_dir(arguments.data_dir)
    remote = _inspect_repo(arguments, data) if arguments.hub else None
    found = remote.found if remote else _inspect(arguments.model, data)
    footprint = found.footprint
    fit = memory_fit.judge_fit(footprint, arguments.context, system.this_machine()) if footprint else None
    notes = (*found.notes, *(remote.warnings if remote else ()), *_context_note(fit, arguments.context))
    if arguments.json:
        console.json(_as_json(found, fit) | (_repo_as_json(remote) if remote else {}) | {"notes": notes})
    else:
        for name, value in (*_identity_rows(found, remote), *_verdict_rows(found, fit, remote)):
            console.line(f"{name:<8}{value}")
        for note in notes:
            console.line(f"{'note':<8}{note}")
    return 0 if found.loads else 1


def _inspect(model: str, data: Path) -> Inspection:
    """Inspect a model here, or raise NOT_FOUND; the hub is never asked without being told to."""
    try:
        folder = library.resolve_model(model, data)
    except EngineError as error:
        if not repository.is_repo(model) or error.kind is not ErrorKind.NOT_FOUND:
            raise
        sentence = f"{model} is not installed. Ask the hub about it with: mtplx inspect --hub {model}"
        raise EngineError(ErrorKind.NOT_FOUND, sentence) from error
    return inspection.inspect(folder, ProbeMemory(data), tensors=True)


def _inspect_repo(arguments: argparse.Namespace, data: Path) -> RepoInspection:
    connection = hub.connect(arguments, data)
    return hub.inspect_repo(connection, remote_inspect.plan_download(connection, arguments.model))


_Rows = list[tuple[str, str]]


def _identity_rows(found: Inspection, remote: RepoInspection | None) -> _Rows:
    if remote is None:
        return [("model", found.name), ("folder", str(found.folder))]
    target = remote.plan.target
    gated = ", gated: an account must accept the licence first" if target.gated else ""
    return [
        ("model", target.id),
        ("commit", target.revision),
        ("size", formatting.size(remote.plan.size)),
        ("licence", (target.licence or "not stated") + gated),
    ]


def _verdict_rows(found: Inspection, fit: Fit | None, remote: RepoInspection | None) -> _Rows:
    reason = remote.reason if remote else found.reason
    rows = [("tier", str(found.tier)), ("reason", reason), ("family", found.family or "unknown")]
    if remote and remote.plan.head_repo:
        taken = "taken out of " if remote.plan.taken else ""
        added = formatting.size(remote.plan.head_size)
        rows.append(("head", f"{taken}{remote.plan.head_repo}, which adds {added}"))
    elif found.head:
        rows.append(("head", f"{found.head.place}, {formatting.size(found.head.size)}"))
    elif remote and found.loads:
        rows.append(("head", "none known"))
    if fit:
        rows += [("fit", str(fit.verdict)), ("memory", fit.in_words)]
    return rows


def _context_note(fit: Fit | None, asked: int) -> tuple[str, ...]:
    if fit is None or fit.context == asked:
        return ()
    return (f"Its context window has {fit.context} tokens, so it was judged for these and not for {asked}.",)


def _as_json(found: Inspection, fit: Fit | None) -> dict[str, Any]:
    head = found.head
    return {
        "name": found.name,
        "path": str(found.folder),
        "tier": found.tier,
        "reason": found.reason,
        "family": found.family,
        "loads": found.loads,
        "head": head and {"source": head.place, "size": head.size},
        "fit": fit and {"verdict": fit.verdict, "total": fit.total, **dataclasses.asdict(fit)},
    }


def _repo_as_json(remote: RepoInspection) -> dict[str, Any]:
    plan, target = remote.plan, remote.plan.target
    head = {"id": plan.head_repo, "size": plan.head_size, "taken_out": plan.taken is not None}
    return {
        "name": target.id,
        "path": None,
        "revision": target.revision,
        "licence": target.licence,
        "gated": target.gated,
        "size": plan.size,
        "head_repository": head if plan.head_repo else None,
        "reason": remote.reason,
        "fetched": remote.fetched,
    }


INSPECT = Command(
    name="inspect",
    summary="check a model without loading it",
    examples="""\
examples:
  mtplx inspect smollm2-135m-instruct
  mtplx inspect ~/models/Qwen3.5-4B --context 32768 --json
  mtplx inspect --hub mlx-community/Qwen3.5-4B-MLX-4bit    # before it is fetched
exit code: 0 when this version loads the model, 1 otherwise
""",
    add_arguments=_add_arguments,
    run=_run,
)
