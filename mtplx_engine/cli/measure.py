"""`mtplx tune`, `mtplx check` and `mtplx bench`: speed and exactness of drafting, measured on this machine."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from mtplx_engine import backend, host, paths
from mtplx_engine.bench import report as bench_report
from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.cli import options, output
from mtplx_engine.cli.options import Command, positive
from mtplx_engine.cli.output import Console
from mtplx_engine.config import AUTO_MAX_DEPTH, MAX_DEPTH, DrafterKind
from mtplx_engine.errors import LoadCancelledError
from mtplx_engine.ipc.protocol import (
    LEAST_TOKENS,
    MOST_PAIRS,
    MOST_PREFIXES,
    MOST_SAMPLES,
    MOST_TOKENS,
    USUAL_PREFIXES,
    USUAL_SAMPLES,
    CheckExactness,
    Measure,
    TrialProgress,
)
from mtplx_engine.measure import results, sentences
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, LEAST_PAIRS, PromptKind
from mtplx_engine.measure.results import Exactness, judge_exactness
from mtplx_engine.measure.store import MeasurementStore
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.config import DraftCore
    from mtplx_engine.host import EngineProtocol
    from mtplx_engine.measure.measurement import ExactnessReport, Measurement
    from mtplx_engine.measure.results import DepthResult
    from mtplx_engine.util.formatting import Report


_Result = TypeVar("_Result")


def _run_trial(
    folder: Path,
    arguments: argparse.Namespace,
    new_engine: NewEngine,
    report: Report,
    start: Callable[[EngineProtocol, threading.Event], Iterator[TrialProgress | _Result]],
) -> _Result:
    """Load a model and run a trial on a thread, which mlx then belongs to, so that Ctrl-C is heard at once.

    `start` starts the trial, whose last event is its result; Ctrl-C ends it with KeyboardInterrupt.
    """
    cancelled = threading.Event()

    def work() -> _Result | None:
        engine = new_engine()
        data = paths.data_dir(arguments.data_dir)
        engine.load(str(folder), data, report, cancelled, arguments.draft_model, anyway=arguments.anyway)
        for event in start(engine, cancelled):
            if not isinstance(event, TrialProgress):
                return event
            left = "" if event.left_s is None else f", {formatting.duration(event.left_s)} left"
            report(event.fraction, f"{event.what}{left}")
        return None

    outcome = output.on_thread(work, cancelled.set)
    if outcome is None or isinstance(outcome, LoadCancelledError):
        raise KeyboardInterrupt
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _drafter(arguments: argparse.Namespace) -> DraftCore:
    return "draft_model" if arguments.draft_model else "stock"


_KINDS = {kind.name.lower(): kind for kind in PromptKind}
_TUNE_TOKENS = 128


def _add_tune_arguments(parser: argparse.ArgumentParser) -> None:
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
    context = CONTEXT_BUCKETS[0]
    options.add_number(parser, "--context", context, f"tokens of prompt and answer together (default: {context})")
    pairs = f"answers of each kind at each depth, {LEAST_PAIRS} (default) to {MOST_PAIRS}"
    options.add_number(parser, "--pairs", LEAST_PAIRS, pairs)
    options.add_depths(parser, f"draft depths, up to {MAX_DEPTH} (default: those that are chosen among by themselves)")
    tokens = f"tokens of each answer, up to {MOST_TOKENS} (default: {_TUNE_TOKENS})"
    options.add_number(parser, "--tokens", _TUNE_TOKENS, tokens)
    parser.add_argument("--temp", metavar="T", type=float, default=0.0, help="temperature (default: 0)")
    parser.add_argument("--forget", action="store_true", help="measure nothing; forget what was measured")
    options.add_anyway(parser, "measure it even when it will not fit into memory")
    options.add_json(parser)


def _run_tune(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    request = Measure(
        generation=0,
        kinds=tuple(_KINDS[name] for name in dict.fromkeys(arguments.kinds)),
        context=arguments.context,
        tokens=arguments.tokens,
        pairs=arguments.pairs,
        depths=tuple(sorted(set(arguments.depths))),
        temperature=arguments.temp,
        drafter=_drafter(arguments),
    )
    request.check()
    data, console, notes = paths.data_dir(arguments.data_dir), Console(sys.stdout), Console(sys.stderr)
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = options.find_model(arguments.model, data, line)
        if arguments.forget:
            _forget(folder, arguments, data, console)
            return 0
        for note in _announcement(request):
            notes.dim(note)
        found = _run_trial(
            folder,
            arguments,
            new_engine,
            line,
            lambda engine, cancelled: host.measure(engine, request, cancelled),
        ).measurement
    if MeasurementStore(data).latest(found.subject.key) != found:
        notes.line("The data folder cannot be written, so this is kept nowhere and decides nothing.")
    if arguments.json:
        console.json(_measurement_as_json(found))
    else:
        console.text(bench_report.render_report(found))
    return 0


def _measurement_as_json(measurement: Measurement) -> dict[str, Any]:
    found = results.results_of(measurement)
    return {
        "measurement": dataclasses.asdict(measurement),
        "results": {
            "winner": found.winner,
            "plain": dataclasses.asdict(found.plain),
            "depths": [_depth_as_json(result) for result in found.depths],
        },
    }


def _depth_as_json(result: DepthResult) -> dict[str, Any]:
    return {
        **dataclasses.asdict(result),
        "by_kind": {kind: dataclasses.asdict(ratio) for kind, ratio in result.by_kind},
        "verdict": result.verdict,
        "acceptance_rate": result.acceptance_rate,
        "acceptance": result.acceptance,
        "mean_length": result.mean_acceptance_length,
        "ceiling": result.ceiling,
        "histogram": result.histogram,
        "predicted": result.predicted,
    }


def _announcement(request: Measure) -> list[str]:
    """Return the amount of work, and what the results are not good for, said before it starts."""
    answers = len(request.kinds) * request.pairs * (1 + len(request.depths or range(AUTO_MAX_DEPTH)))
    notes = [f"{answers:,} answers of {request.tokens:,} tokens, after a warm-up; Ctrl-C ends it and keeps nothing"]
    if request.context not in CONTEXT_BUCKETS:
        lengths = ", ".join(map(str, CONTEXT_BUCKETS))
        notes.append(f"The History page compares answers with measurements at {lengths} tokens of context only.")
    return notes


def _forget(folder: Path, arguments: argparse.Namespace, data: Path, console: Console) -> None:
    backend.prepare()  # the key stands for the BLAS too
    from mtplx_engine.models import identity, loader  # these import mlx

    parts = loader.check_folders(str(folder), arguments.draft_model, data)
    key = identity.speed_key(parts, backend.speed_class(backend.policy()))
    store, name = MeasurementStore(data), parts[0].name
    contexts = sorted(each.context for each in store.all() if each.subject.key == key)
    store.drop(key)
    if arguments.json:
        console.json({"model": name, "forgotten": bool(contexts), "contexts": contexts})
    elif contexts:
        where = " and ".join(f"{context:,}" for context in contexts)
        console.line(
            f"What was measured of {name} at {where} tokens of context is forgotten; depths are chosen as answers go."
        )
    else:
        console.line(f"Nothing is kept of {name} on this machine.")


TUNE = Command(
    name="tune",
    summary="measure how much faster drafting is here, and keep the depth that wins",
    examples="""\
examples:
  mtplx tune
  mtplx tune --kinds code maths --context 8192 --json
  mtplx tune --forget                                # choose as answers go, as before
""",
    add_arguments=_add_tune_arguments,
    run=_run_tune,
)

_NEXT_STEP = {
    Exactness.TOO_FEW: "Take more --draws.",
    Exactness.ODD: "Check again; if it comes out odd again, send us both reports.",
    Exactness.DIFFERENT: "Use --depth 0, and send us this report and that of “mtplx doctor”.",
}
_METHOD = (
    "It tries short beginnings and draws one cycle of draft, verify and accept after each, at temperature 1 without "
    "filters."
)


def _add_check_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_draft_model(parser)
    prefixes = f"beginnings of text to try, up to {MOST_PREFIXES} (default: {USUAL_PREFIXES})"
    options.add_number(parser, "--beginnings", USUAL_PREFIXES, prefixes)
    samples = (
        f"cycles of draft, verify and accept to draw in all, up to {MOST_SAMPLES} (default: {USUAL_SAMPLES}); "
        "up to 16 times as many where they are odd"
    )
    options.add_number(parser, "--draws", USUAL_SAMPLES, samples)
    options.add_anyway(parser, "check it even when it will not fit into memory")
    options.add_json(parser)


def _run_check(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    request = CheckExactness(0, arguments.beginnings, arguments.draws, _drafter(arguments))
    request.check()
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = options.find_model(arguments.model, paths.data_dir(arguments.data_dir), line)
        Console(sys.stderr).dim(f"{request.prefixes:,} beginnings, {request.samples:,} draws")
        report = _run_trial(
            folder,
            arguments,
            new_engine,
            line,
            lambda engine, cancelled: host.check(engine, request, cancelled),
        ).report
    console, verdict = Console(sys.stdout), judge_exactness(report)
    if arguments.json:
        console.json({"verdict": verdict, "report": dataclasses.asdict(report)})
    else:
        console.text(render_check(report))
    return 0 if verdict in (Exactness.IDENTICAL, Exactness.ROUNDING) else 1


def render_check(report: ExactnessReport) -> str:
    subject, verdict = report.subject, judge_exactness(report)
    compared = [(str(about), str(told)) for about, told in sentences.compared(report)]
    width = max(len(about) for about, _ in compared)
    return "\n".join(
        (
            f"{subject.model}, drafted by {subject.drafter} at depth {report.depth}; {subject.backend}",
            " ".join(filter(None, (str(sentences.exactness(report)), _NEXT_STEP.get(verdict)))),
            *(f"  {about:<{width}}  {told}" for about, told in compared),
            f"  {'Logits':<{width}}  {report.logit_distance:.1g} apart at most",
            f"  {'Cycles':<{width}}  {_cycles(report)}",
            str(sentences.limits(report)),
            _METHOD,
        )
    )


def _cycles(report: ExactnessReport) -> str:
    *drafted, bonus = report.tokens_at
    counts = ", ".join(map(str, drafted))
    tokens = f"{report.samples:,} gave {counts} tokens at draft positions 1 to {report.depth} and {bonus} bonus tokens"
    if report.p_value is None:
        return tokens
    return f"{tokens}, p = {report.p_value:.2g}; a fault in {report.visible_bonus:.0%} of the bonus tokens shows"


CHECK = Command(
    name="check",
    summary="check whether drafting changes what a model says",
    examples="""\
examples:
  mtplx check
  mtplx check --model NAME --beginnings 20 --draws 1000 --json
exit code: 0 when nothing but rounding differs; 1 for a fault, and for draws too few or too odd to tell
""",
    add_arguments=_add_check_arguments,
    run=_run_check,
)


_BENCH_PROMPTS = 12


def _add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_json(parser)
    options.add_draft_model(parser)
    options.add_anyway(parser, "measure it even when it will not fit into memory")
    parser.add_argument(
        "--prompts",
        metavar="N",
        type=_prompt_count,
        default=_BENCH_PROMPTS,
        help=f"how many prompts, at most {len(PROMPTS)} (default: {_BENCH_PROMPTS})",
    )
    parser.add_argument(
        "--tokens", metavar="N", type=_token_count, default=48, help="tokens of each answer (default: 48)"
    )
    options.add_depths(
        parser,
        f"draft depths to compare, up to {MAX_DEPTH} (default: 1 and 3 for the model's own head, 3 for others)",
    )
    parser.add_argument(
        "--drafters",
        metavar="NAME",
        choices=("stock", *get_args(DrafterKind)),
        nargs="+",
        default=["stock"],
        help=f"who drafts: stock (the model's default, which is the default here), {', '.join(get_args(DrafterKind))}",
    )
    parser.add_argument("--temps", metavar="T", type=float, nargs="+", default=[0.0, 0.7], help="temperatures")
    parser.add_argument("--stock-only", action="store_true", help="only the BLAS that the mlx wheel carries")


def _run_bench(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    data = paths.data_dir(arguments.data_dir)
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = options.find_model(arguments.model, data, line)
    backend.prepare(openblas=not arguments.stock_only)
    from mtplx_engine.bench import matrix  # imports mlx

    plan = matrix.BenchmarkPlan(
        model=str(folder),
        draft_model=arguments.draft_model,
        data_dir=data,
        prompts=arguments.prompts,
        tokens=arguments.tokens,
        temperatures=tuple(arguments.temps),
        depths=tuple(arguments.depths),
        drafters=tuple(arguments.drafters),
        anyway=arguments.anyway,
    )
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        report = matrix.measure(plan, line)
        if report["blas"] == "openblas":
            line(1.0, "now with the BLAS of the mlx wheel, in a process of its own")
            report["stock"] = matrix.measure_stock(plan)
    console = Console(sys.stdout)
    if arguments.json:
        console.json(report)
    else:
        console.text(bench_report.render_table(report))
    return 0


def _prompt_count(text: str) -> int:
    if (number := positive(text)) <= len(PROMPTS):
        return number
    raise argparse.ArgumentTypeError(f"there are {len(PROMPTS)} prompts, not {number}")


def _token_count(text: str) -> int:
    if (number := positive(text)) >= LEAST_TOKENS:
        return number
    raise argparse.ArgumentTypeError(f"{number} tokens are too few to measure a speed; take {LEAST_TOKENS} or more")


BENCH = Command(
    name="bench",
    summary="measure what drafting gains on this machine",
    examples="",
    add_arguments=_add_bench_arguments,
    run=_run_bench,
)
