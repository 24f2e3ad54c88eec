"""`mtplx tune`: measure plain decoding against each draft depth on this machine, and keep what is fastest."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import backend, host, paths
from mtplx_engine.bench import report
from mtplx_engine.cli import options, trial
from mtplx_engine.cli.output import Console
from mtplx_engine.cli.session import find_model
from mtplx_engine.config import AUTO_MAX_DEPTH, MAX_DEPTH
from mtplx_engine.ipc.protocol import MOST_PAIRS, MOST_TOKENS, Measure
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, LEAST_PAIRS, PromptKind
from mtplx_engine.measure.store import MeasurementStore
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.measure.measurement import Measurement
    from mtplx_engine.measure.results import DepthResult, Results


SUMMARY = "measure how much faster drafting is here, and keep the depth that wins"
EXAMPLES = """\
examples:
  mtplx tune
  mtplx tune --kinds code maths --context 8192 --json
  mtplx tune --forget                                # choose as answers go, as before
"""

_KINDS = {kind.name.lower(): kind for kind in PromptKind}
_TOKENS = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_model(parser)
    options.add_draft_model(parser)
    parser.add_argument(
        "--kinds",
        metavar="KIND",
        choices=_KINDS,
        nargs="+",
        default=list(_KINDS),
        help=f"kinds of prompts: {', '.join(_KINDS)} (default: all)",
    )
    parser.add_argument(
        "--context",
        metavar="N",
        type=options.positive,
        default=CONTEXT_BUCKETS[0],
        help=f"tokens of prompt and answer together (default: {CONTEXT_BUCKETS[0]})",
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=options.positive,
        default=LEAST_PAIRS,
        help=f"answers of each kind at each depth, {LEAST_PAIRS} (default) to {MOST_PAIRS}",
    )
    parser.add_argument(
        "--depths",
        metavar="N",
        type=int,
        choices=range(1, MAX_DEPTH + 1),
        nargs="+",
        default=[],
        help=f"draft depths, up to {MAX_DEPTH} (default: those that are chosen among by themselves)",
    )
    parser.add_argument(
        "--tokens",
        metavar="N",
        type=options.positive,
        default=_TOKENS,
        help=f"tokens of each answer, up to {MOST_TOKENS} (default: {_TOKENS})",
    )
    parser.add_argument("--temp", metavar="T", type=float, default=0.0, help="temperature (default: 0)")
    parser.add_argument("--forget", action="store_true", help="measure nothing; forget what was measured")
    options.add_anyway(parser, "measure it even when it will not fit into memory")
    options.add_json(parser)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Measure a model and print what was found; returns the exit code.

    Raises:
        EngineError: It cannot be measured.
        KeyboardInterrupt: Ctrl-C ended it; nothing is kept.
    """
    request = Measure(
        generation=0,
        kinds=tuple(_KINDS[name] for name in dict.fromkeys(arguments.kinds)),
        context=arguments.context,
        tokens=arguments.tokens,
        pairs=arguments.pairs,
        depths=tuple(sorted(set(arguments.depths))),
        temperature=arguments.temp,
        drafter=options.drafter(arguments),
    )
    request.check()
    data, console = paths.data_dir(arguments.data_dir), Console(sys.stdout)
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = find_model(arguments.model, data, line)
        if arguments.forget:
            _forget(folder, arguments, data, console)
            return 0
        for note in _before(request):
            Console(sys.stderr).dim(note)
        found = trial.run(
            folder,
            arguments,
            new_engine,
            line,
            lambda engine, cancelled: host.measure(engine, request, cancelled),
        ).measurement
    if MeasurementStore(data).latest(found.subject.key) != found:
        Console(sys.stderr).line(
            "The data folder cannot be written, so this is kept nowhere and decides nothing."
        )
    if arguments.json:
        console.json(as_json(found))
    else:
        console.text(report.render_report(found))
    return 0


def as_json(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement, and what it comes to, as plain data."""
    found = results.results_of(measurement)
    return {"measurement": dataclasses.asdict(measurement), "results": _results(found)}


def _results(found: Results) -> dict[str, Any]:
    return {
        "winner": found.winner,
        "plain": dataclasses.asdict(found.plain),
        "depths": [_depth(result) for result in found.depths],
    }


def _depth(result: DepthResult) -> dict[str, Any]:
    return {
        **dataclasses.asdict(result),
        "by_kind": {kind: dataclasses.asdict(ratio) for kind, ratio in result.by_kind},
        "verdict": result.verdict,
        "acceptance_rate": result.acceptance_rate,
        "acceptance": result.acceptance,
        "mean_length": result.mean_length,
        "ceiling": result.ceiling,
        "histogram": result.histogram,
        "predicted": result.predicted,
    }


def _before(request: Measure) -> list[str]:
    """Return what is to come, in words, before it takes its time."""
    answers = len(request.kinds) * request.pairs * (1 + len(request.depths or range(AUTO_MAX_DEPTH)))
    notes = [
        f"{answers:,} answers of {request.tokens:,} tokens, after a warm-up; Ctrl-C ends it and keeps nothing"
    ]
    if request.context not in CONTEXT_BUCKETS:
        lengths = ", ".join(map(str, CONTEXT_BUCKETS))
        notes.append(
            f"The History page compares answers with measurements at {lengths} tokens of context only."
        )
    return notes


def _forget(folder: Path, arguments: argparse.Namespace, data: Path, console: Console) -> None:
    """Forget what was measured of a model on this machine, and say so."""
    backend.prepare()  # the key stands for the BLAS too
    from mtplx_engine.models import identity, loader  # these import mlx

    parts = loader.check_folders(str(folder), arguments.draft_model, data)
    key = identity.speed_key(parts, backend.speed_class(backend.policy()))
    kept, name = MeasurementStore(data), parts[0].name
    contexts = sorted(each.context for each in kept.all() if each.subject.key == key)
    kept.drop(key)
    if arguments.json:
        console.json({"model": name, "forgotten": bool(contexts), "contexts": contexts})
    elif contexts:
        where = " and ".join(f"{context:,}" for context in contexts)
        console.line(
            f"What was measured of {name} at {where} tokens of context is forgotten; depths are chosen as answers go."
        )
    else:
        console.line(f"Nothing is kept of {name} on this machine.")
