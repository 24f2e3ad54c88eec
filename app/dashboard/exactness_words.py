"""What a check of exactness found, in words: the verdict, the figures, and what they can and cannot show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.model_manager.face import Tone
from app.translate import marked, tr
from mtplx_engine.exactness import CHANCE, Exactness, judge

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
    Exactness.DIFFERENT: (marked("Drafting changes what this model says here, which is a fault."), Tone.BAD),
}


def verdict(report: ExactnessReport) -> tuple[str, Tone]:
    """Return the verdict in plain words, and how it is said."""
    words, tone = _VERDICTS[judge(report)]
    return tr(words), tone


def advice(report: ExactnessReport) -> str:
    """Return what to do about a difference, "" when there is none."""
    if judge(report) is not Exactness.DIFFERENT:
        return ""
    return tr("Turn drafting off in the Model menu, and send us what “mtplx doctor” prints.")


def figures(report: ExactnessReport) -> tuple[tuple[str, str], ...]:
    """Return what was compared, and what came of it."""
    first = tr("the same at {same} of {places} places")
    return (
        (tr("Chances of the next word"), _chances(report)),
        (tr("Likeliest next word"), first.format(same=report.first_choices, places=report.rows)),
        (tr("Answers at temperature 0"), _greedy(report)),
        (tr("Words drawn at random"), _drawn(report)),
    )


def limits() -> str:
    """Return what such a check can and cannot show."""
    return tr(
        "It can show that drafting goes wrong with this model on this computer. It cannot show that no other text "
        "would differ: that the method is exact is proven by mathematics, and tested on models small enough to count "
        "everything."
    )


def _chances(report: ExactnessReport) -> str:
    told = tr(
        "{distance} apart at most, where rounding explains {allowed} and 1 is nothing alike; {places} places "
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
    alike = tr("{count}, as alike as chance makes them (p = {p})")
    unlike = tr("{count}, less alike than chance makes them (p = {p})")
    words = alike if report.p_value >= CHANCE else unlike
    return words.format(count=f"{report.samples:,}", p=_small(report.p_value))


def _small(value: float) -> str:
    """Return a share of 1; what is not 0 never looks like it."""
    return "0" if value == 0 else f"{value:.1g}" if value < 0.01 else f"{value:.2f}"
