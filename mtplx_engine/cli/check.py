"""`mtplx check`: whether drafting changes what a model says on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options, trial
from mtplx_engine.cli.console import Console
from mtplx_engine.cli.session import find_model
from mtplx_engine.exactness import Exactness, judge
from mtplx_engine.progress import ProgressLine
from mtplx_engine.trials import USUAL_PREFIXES, USUAL_SAMPLES, CheckExactness

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.measurement import ExactnessReport

SUMMARY = "check whether drafting changes what a model says"
EXAMPLES = """\
examples:
  mtplx check
  mtplx check --model NAME --beginnings 20 --draws 1000 --json
exit code: 0 when nothing but rounding differs, 1 otherwise
"""

_SAID = {
    Exactness.IDENTICAL: "Identical: drafting and plain decoding gave the same numbers to the last bit.",
    Exactness.ROUNDING: "The same within rounding: verifying several tokens at once sums in another order, which moves "
    "no chance by more than the distance below.",
    Exactness.DIFFERENT: "Different, by more than rounding and chance explain. This is a fault: use --depth 0, and "
    "send us this report and that of “mtplx doctor”.",
}
_SHOWS = (
    "shows: whether the rows, the rollback or the acceptance rule go wrong with this model on this machine."
)
_HIDES = "cannot show: that no other text differs; it tries short beginnings and draws one token after each."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_model(parser)
    options.add_draft_model(parser)
    parser.add_argument(
        "--beginnings",
        metavar="N",
        type=options.positive,
        default=USUAL_PREFIXES,
        help=f"beginnings of text to try (default: {USUAL_PREFIXES})",
    )
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.positive,
        default=USUAL_SAMPLES,
        help=f"next tokens to draw, all in all (default: {USUAL_SAMPLES})",
    )
    options.add_anyway(parser, "check it even when it will not fit into memory")
    options.add_json(parser)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Check a model and print what was found; returns the exit code.

    Raises:
        EngineError: It cannot be checked.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    request = CheckExactness(0, arguments.beginnings, arguments.draws)
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = find_model(arguments.model, paths.data_dir(arguments.data_dir), line)
        checked = trial.run(
            folder, arguments, new_engine, line, lambda engine, cancelled: engine.check(request, cancelled)
        )
    report, console = checked.report, Console(sys.stdout)
    console.line(json.dumps(as_json(report), indent=1) if arguments.json else render(report))
    return 1 if judge(report) is Exactness.DIFFERENT else 0


def as_json(report: ExactnessReport) -> dict[str, Any]:
    """Return a report and its verdict as plain data."""
    return {"verdict": judge(report), "report": dataclasses.asdict(report)}


def render(report: ExactnessReport) -> str:
    """Return a report for a terminal."""
    subject = report.subject
    rows = (
        f"{report.rows} of {report.prefixes} beginnings: chances are at most {report.distance:.1g} apart "
        f"(rounding explains {report.allowed:g}), logits {report.logit_distance:.1g}; "
        f"the same first choice in {report.first_choices}"
    )
    answers = f"{report.greedy_same} of {report.greedy_prefixes} the same"
    if report.greedy_ties:
        answers += f", {report.greedy_ties} parted where two tokens were equally likely"
    chance = (
        "too few to tell" if report.p_value is None else f"p = {report.p_value:.2g} that chance explains them"
    )
    return "\n".join(
        (
            f"{subject.model}, drafted by {subject.drafter} at depth {report.depth}; {subject.backend}",
            _SAID[judge(report)],
            f"  rows     {rows}",
            f"  answers  {answers}, at temperature 0",
            f"  draws    {report.samples}, {chance}",
            _SHOWS,
            _HIDES,
        )
    )
