"""`mtplx check`: whether drafting changes what a model says on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import host, paths
from mtplx_engine.cli import options, trial
from mtplx_engine.cli.output import Console
from mtplx_engine.cli.session import find_model
from mtplx_engine.ipc.protocol import (
    MOST_PREFIXES,
    MOST_SAMPLES,
    USUAL_PREFIXES,
    USUAL_SAMPLES,
    CheckExactness,
)
from mtplx_engine.measure import sentences
from mtplx_engine.measure.results import Exactness, judge_exactness
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.measure.measurement import ExactnessReport


SUMMARY = "check whether drafting changes what a model says"
EXAMPLES = """\
examples:
  mtplx check
  mtplx check --model NAME --beginnings 20 --draws 1000 --json
exit code: 0 when nothing but rounding differs; 1 for a fault, and for draws too few or too odd to tell
"""

_TO_DO = {
    Exactness.TOO_FEW: "Take more --draws.",
    Exactness.ODD: "Check again; if it comes out odd again, send us both reports.",
    Exactness.DIFFERENT: "Use --depth 0, and send us this report and that of “mtplx doctor”.",
}
_HOW = (
    "It tries short beginnings and draws one cycle of draft, verify and accept after each, at temperature 1 without "
    "filters."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_model(parser)
    options.add_draft_model(parser)
    parser.add_argument(
        "--beginnings",
        metavar="N",
        type=options.positive,
        default=USUAL_PREFIXES,
        help=f"beginnings of text to try, up to {MOST_PREFIXES} (default: {USUAL_PREFIXES})",
    )
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.positive,
        default=USUAL_SAMPLES,
        help=f"cycles of draft, verify and accept to draw in all, up to {MOST_SAMPLES} (default: {USUAL_SAMPLES}); "
        "up to 16 times as many where they are odd",
    )
    options.add_anyway(parser, "check it even when it will not fit into memory")
    options.add_json(parser)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Check a model and print what was found; returns the exit code.

    Raises:
        EngineError: It cannot be checked.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    request = CheckExactness(0, arguments.beginnings, arguments.draws, options.drafter(arguments))
    request.check()
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = find_model(arguments.model, paths.data_dir(arguments.data_dir), line)
        Console(sys.stderr).dim(f"{request.prefixes:,} beginnings, {request.samples:,} draws")
        checked = trial.run(
            folder,
            arguments,
            new_engine,
            line,
            lambda engine, cancelled: host.check(engine, request, cancelled),
        )
    report, console = checked.report, Console(sys.stdout)
    if arguments.json:
        console.json(as_json(report))
    else:
        console.text(render(report))
    return 0 if judge_exactness(report) in (Exactness.IDENTICAL, Exactness.ROUNDING) else 1


def as_json(report: ExactnessReport) -> dict[str, Any]:
    """Return a report and its verdict as plain data."""
    return {"verdict": judge_exactness(report), "report": dataclasses.asdict(report)}


def render(report: ExactnessReport) -> str:
    """Return a report for a terminal."""
    subject, verdict = report.subject, judge_exactness(report)
    compared = [(str(about), str(told)) for about, told in sentences.compared(report)]
    width = max(len(about) for about, _ in compared)
    return "\n".join(
        (
            f"{subject.model}, drafted by {subject.drafter} at depth {report.depth}; {subject.backend}",
            " ".join(filter(None, (str(sentences.exactness(report)), _TO_DO.get(verdict)))),
            *(f"  {about:<{width}}  {told}" for about, told in compared),
            f"  {'Logits':<{width}}  {report.logit_distance:.1g} apart at most",
            f"  {'Cycles':<{width}}  {_cycles(report)}",
            str(sentences.limits(report)),
            _HOW,
        )
    )


def _cycles(report: ExactnessReport) -> str:
    *drafted, bonus = report.tokens_at
    places = ", ".join(map(str, drafted))
    tokens = f"{report.samples:,} gave {places} tokens at draft positions 1 to {report.depth} and {bonus} bonus tokens"
    if report.p_value is None:
        return tokens
    return (
        f"{tokens}, p = {report.p_value:.2g}; a fault in {report.visible_bonus:.0%} of the bonus tokens shows"
    )
