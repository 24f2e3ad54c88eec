"""What a check of exactness found, in words: the verdict, the figures, and what they can and cannot show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.palette import Tone
from app.translate import marked, tr
from mtplx_engine.exactness import CHANCE, ODD, Exactness, judge

if TYPE_CHECKING:
    from mtplx_engine.measurement import ExactnessReport

_VERDICTS = {
    Exactness.IDENTICAL: (marked("Drafted and plain decoding were the same in every bit."), Tone.GOOD),
    Exactness.ROUNDING: (
        marked(
            "The same within rounding: only where two words are equally likely may it take the other one."
        ),
        Tone.GOOD,
    ),
    Exactness.TOO_FEW: (
        marked("Nothing differed, but too few words were drawn at random to tell."),
        Tone.DOUBT,
    ),
    Exactness.ODD: (
        marked(
            "Nothing differed, but the words drawn at random were odder than chance makes them in 99 of 100."
        ),
        Tone.DOUBT,
    ),
    Exactness.DIFFERENT: (marked("Drafting changes what this model says here, which is a fault."), Tone.BAD),
}


def verdict(report: ExactnessReport) -> tuple[str, Tone]:
    """Return the verdict in plain words, and how it is said."""
    words, tone = _VERDICTS[judge(report)]
    return tr(words), tone


def advice(report: ExactnessReport) -> str:
    """Return what to do about a difference or a doubt, "" when there is none."""
    found = judge(report)
    if found is Exactness.ODD:
        return tr("Check again. If it comes out odd again, send us what “mtplx doctor” prints.")
    if found is not Exactness.DIFFERENT:
        return ""
    return tr("Turn drafting off, and send us what “mtplx doctor” prints.")


def figures(report: ExactnessReport) -> tuple[tuple[str, str], ...]:
    """Return what was compared, and what came of it."""
    first = tr("the same at {same} of {places} places")
    return (
        (tr("Chances of the next word"), _chances(report)),
        (tr("Likeliest next word"), first.format(same=report.first_choices, places=report.rows)),
        (tr("Answers at temperature 0"), _greedy(report)),
        (tr("Words drawn at random"), _drawn(report)),
    )


def limits(report: ExactnessReport) -> str:
    """Return what such a check can and cannot show."""
    shows = tr("It can show that drafting goes wrong with this model on this computer")
    if report.p_value is not None:
        drawn = tr("{more}, where that changes about {share} of the words drawn at random or more")
        shows = drawn.format(more=shows, share=f"{report.visible:.0%}")
    cannot = tr(
        "{more}. It cannot show that no other text would differ: that the method is exact is proven by mathematics, "
        "and tested on models small enough to count everything."
    )
    return cannot.format(more=shows)


def _chances(report: ExactnessReport) -> str:
    told = tr(
        "{distance} apart at most, of 1; rounding explains {allowed}; {places} places "
        "after {prefixes} beginnings"
    )
    return told.format(
        distance=_small(report.distance),
        allowed=_small(report.allowed),
        places=report.rows,
        prefixes=report.prefixes,
    )


def _greedy(report: ExactnessReport) -> str:
    told = tr("{same} of {all} word for word the same")
    if report.greedy_ties:
        told += tr(", {ties} parted where two words were equally likely")
    return told.format(same=report.greedy_same, all=report.greedy_prefixes, ties=report.greedy_ties)


def _drawn(report: ExactnessReport) -> str:
    if report.p_value is None:
        return tr("too few to tell")
    told = tr("{count}; chance alone makes them as odd as that in {share}")
    if report.p_value >= ODD:
        share = tr("{percent} of checks").format(percent=f"{report.p_value:.0%}")
    else:
        many = 100 if report.p_value >= CHANCE else 1_000_000
        share = tr("fewer than one of {many} checks").format(many=f"{many:,}")
    return told.format(count=f"{sum(report.tokens_at):,}", share=share)


def _small(value: float) -> str:
    """Return a share of 1; what is not 0 never looks like it."""
    return "0" if value == 0 else f"{value:.1g}" if value < 0.01 else f"{value:.2f}"
