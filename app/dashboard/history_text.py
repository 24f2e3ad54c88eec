"""Sentences about the history of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.chat.metrics import speed
from app.i18n import marked, said, tr
from app.storage.stats import FEWEST_QUARTILES
from mtplx_engine.measure import sentences
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, FEW_STEPS
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from app.storage.stats import AnswerHistory, Group, HistorySummary, Middle, Spread, TimeSaved


UNKNOWN = "–"
_LEAST_SAVED_S = 1.0  # less is within the error of the estimate
SAVED_TIP = marked(
    "The time that plain decoding would have taken at the speed measured on this computer, less the time that the "
    "answers took, and never more than it would have taken for the drafts that were kept. Only answers count whose "
    "model was measured in a context of about the same length, while nothing else held the computer back."
)


def answers(count: int) -> str:
    return tr("1 answer") if count == 1 else tr("{count} answers").format(count=f"{count:,}")


def days(history: AnswerHistory) -> str:
    """Return on how many days the answers were given, and of how many kept answers they are."""
    count = len(history.days)
    said = tr("on 1 day") if count == 1 else tr("on {count} days").format(count=f"{count:,}")
    if history.total.answers == history.kept:
        return said
    return tr("of {kept}, {days}").format(kept=f"{history.kept:,}", days=said)


def writing(spread: Spread | None) -> str:
    """Return the median decode speed, as in "41 tok/s"."""
    return UNKNOWN if spread is None else tr("{speed} tok/s").format(speed=speed(spread.median))


def writing_and_span(spread: Spread | None) -> str:
    """Return the median decode speed with the quartiles, as in "41 (38–44)"."""
    if spread is None:
        return UNKNOWN
    quartiles = span(spread)
    return f"{speed(spread.median)} ({quartiles})" if quartiles else speed(spread.median)


def prompt_speed(summary: HistorySummary) -> str:
    """Return the speed of prefill, without a unit."""
    return UNKNOWN if summary.prefill_tps is None else speed(summary.prefill_tps)


def middle_half(spread: Spread | None) -> str:
    """Return the quartiles of the decode speeds, and of how many answers they are."""
    if spread is None:
        return tr("no answer was long enough")
    quartiles = span(spread)
    if not quartiles:
        return tr("of {answers}").format(answers=answers(spread.answers))
    return tr("middle half of {count}: {span}").format(count=f"{spread.answers:,}", span=quartiles)


def span(spread: Spread) -> str:
    """Return the quartiles of the decode speeds, as in "38–44"; "" for too few answers."""
    if spread.answers < FEWEST_QUARTILES:
        return ""
    return f"{speed(spread.low)}–{speed(spread.high)}"


def seconds(middle: Middle | None) -> str:
    """Return the median time, as in "0.4 s"."""
    if middle is None:
        return UNKNOWN
    pattern = "{:.2f}" if middle.median < 0.95 else "{:.1f}"
    return tr("{seconds} s").format(seconds=pattern.format(middle.median))


def kept(summary: HistorySummary) -> str:
    """Return the acceptance rate, as in "71 %"."""
    return UNKNOWN if summary.acceptance_rate is None else percent(summary.acceptance_rate)


def kept_of(summary: HistorySummary) -> str:
    """Return the number of drafted tokens and the mean acceptance length, and whether the sample is too small."""
    if summary.mean_acceptance_length is None:
        return tr("nothing was drafted")
    of = tr("of {count} drafted · {length} per step")
    few = tr("of only {count} drafted · {length} per step")
    return (few if is_few(summary) else of).format(
        count=f"{summary.drafted:,}", length=f"{summary.mean_acceptance_length:.2f}"
    )


def kept_of_drafted(summary: HistorySummary) -> str:
    """Return the acceptance rate with its sample, as in "71 % of 412"."""
    if summary.acceptance_rate is None:
        return UNKNOWN
    return tr("{share} of {count}").format(share=kept(summary), count=f"{summary.drafted:,}")


def is_few(summary: HistorySummary) -> bool:
    """Whether so few steps were verified that shares of them say little."""
    return summary.verify_steps < FEW_STEPS


def saved(estimate: TimeSaved) -> str:
    """Return the time that drafting saved or lost, as in "12 min saved"."""
    if estimate.seconds is None:
        return UNKNOWN
    if abs(estimate.seconds) < _LEAST_SAVED_S:
        return tr("no time saved to speak of")
    time = formatting.duration(abs(estimate.seconds))
    if estimate.seconds < 0:
        return tr("{time} lost").format(time=time)
    return tr("{time} saved").format(time=time)


def saved_from(estimate: TimeSaved) -> str:
    """Return the sample of the estimate, or why there is none."""
    if not estimate.answers:
        return tr("nothing was drafted")
    if estimate.seconds is None:
        return tr("no measurement to compare with")
    return tr("from {covered} of {answers}").format(covered=f"{estimate.covered:,}", answers=answers(estimate.answers))


def context(group: Group) -> str:
    if group.bucket is None:
        return tr("more than {count}k").format(count=CONTEXT_BUCKETS[-1] // 1024)
    return said(sentences.context(group.bucket))


def unreadable(history: AnswerHistory) -> str:
    """Return the note on damaged records, "" without any."""
    if not history.unreadable:
        return ""
    one = tr("The figures of 1 answer cannot be read and are left out; nothing was deleted.")
    many = tr("The figures of {count} answers cannot be read and are left out; nothing was deleted.")
    return one if history.unreadable == 1 else many.format(count=f"{history.unreadable:,}")


def later(history: AnswerHistory) -> str:
    """Return the note on answers with a future date, "" without any."""
    if not history.later:
        return ""
    one = tr("1 answer has a date after today, as after a clock that was wrong, and is left out.")
    many = tr("{count} answers have a date after today, as after a clock that was wrong, and are left out.")
    return one if history.later == 1 else many.format(count=f"{history.later:,}")


def period(days: int | None) -> str:
    if days is None:
        return tr("All days")
    return tr("Last year") if days == 365 else tr("Last {count} days").format(count=days)


def why_nothing(history: AnswerHistory) -> str:
    """Return why no answers are shown, "" when some are."""
    if not history.kept:
        return tr("No answers yet.\nThe speed and the counts of each one are kept here, without its text.")
    if history.total.answers:
        return ""
    return tr("None of {answers} fits this choice.").format(answers=answers(history.kept))


def chart_heading(history: AnswerHistory) -> str:
    """Return the heading of the chart, with a caution where it mixes several models."""
    if history.choice.model is None and len(history.models) > 1:
        return tr("Writing speed by day, tok/s; all models together, of which some are faster than others")
    return tr("Writing speed by day, tok/s: the median, and the middle half of the answers")
