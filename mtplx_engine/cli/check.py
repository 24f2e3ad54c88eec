"""`mtplx check`: whether drafting changes what a model says on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import host, paths
from mtplx_engine.cli import options, trial
from mtplx_engine.cli.console import Console
from mtplx_engine.cli.session import find_model
from mtplx_engine.exactness import ODD, Exactness, judge
from mtplx_engine.progress import ProgressLine
from mtplx_engine.trials import MOST_PREFIXES, MOST_SAMPLES, USUAL_PREFIXES, USUAL_SAMPLES, CheckExactness

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.measurement import ExactnessReport

SUMMARY = "check whether drafting changes what a model says"
EXAMPLES = """\
examples:
  mtplx check
  mtplx check --model NAME --beginnings 20 --draws 1000 --json
exit code: 0 when nothing but rounding differs; 1 for a fault, and for draws too few or too odd to tell
"""

_SAID = {
    Exactness.IDENTICAL: "Identical: drafting and plain decoding gave the same numbers to the last bit.",
    Exactness.ROUNDING: "The same within rounding: verifying several tokens at once sums in another order, which moves "
    "no chance by more than the distance below.",
    Exactness.TOO_FEW: "Too few draws to tell: nothing else differs, but nothing is known of tokens drawn at random; "
    "take more --draws.",
    Exactness.ODD: "Odd: nothing differs, but of a right engine fewer than one check in a hundred draws such tokens. "
    "Check again; if it comes out odd again, send us both reports.",
    Exactness.DIFFERENT: "Different, by more than rounding and chance explain. This is a fault: use --depth 0, and "
    "send us this report and that of “mtplx doctor”.",
}
_HIDES = (
    "cannot show: smaller errors than that, nor that no other text differs; it tries short beginnings and draws one "
    "cycle of draft, verify and accept after each, at temperature 1 without filters."
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
    return 0 if judge(report) in (Exactness.IDENTICAL, Exactness.ROUNDING) else 1


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
    return "\n".join(
        (
            f"{subject.model}, drafted by {subject.drafter} at depth {report.depth}; {subject.backend}",
            _SAID[judge(report)],
            f"  rows     {rows}",
            f"  answers  {answers}, at temperature 0",
            f"  draws    {_draws(report)}",
            _shows(report),
            _HIDES,
        )
    )


def _draws(report: ExactnessReport) -> str:
    *drafted, bonus = report.tokens_at
    places = ", ".join(map(str, drafted))
    tokens = f"{report.samples:,} cycles gave {places} tokens at draft positions 1 to {report.depth}"
    tokens += f" and {bonus} bonus tokens"
    if report.p_value is None:
        return f"{tokens}: too few to tell"
    often = f"a right engine draws tokens as odd as these in {_times(report.p_value)}"
    return f"{tokens}; {often} (p = {report.p_value:.2g})"


def _times(p_value: float) -> str:
    """Return a p-value as a share of checks."""
    return f"{p_value:.0%} of checks" if p_value >= ODD else "fewer than 1 % of checks"


def _shows(report: ExactnessReport) -> str:
    told = "shows: whether rows, rollback or greedy answers go wrong with this model on this machine"
    if report.p_value is None:
        return f"{told}; nothing of the acceptance rule."
    return (
        f"{told}, and an acceptance rule that makes about {report.visible:.0%} of the tokens drawn here, or "
        f"{report.visible_bonus:.0%} of the bonus tokens, others."
    )
