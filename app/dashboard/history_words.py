"""The history in words. What is not known is a dash and never a zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.chat.meters import speed
from app.services.history import FEWEST_QUARTILES, Grouping
from app.translate import marked, said, tr
from mtplx_engine import words
from mtplx_engine.bench import sentences
from mtplx_engine.measurement import CONTEXT_BUCKETS, FEW_STEPS
from mtplx_engine.words import percent

if TYPE_CHECKING:
    from app.services.history import Group, History, Middle, Spread, Summary, TimeSaved

UNKNOWN = "–"
_LEAST_SAVED_S = 1.0  # less is lost in what the estimate does not know
SAVED_TIP = marked(
    "The time that plain decoding would have taken at the speed measured on this computer, less the time that the "
    "answers took, and never more than it would have taken for the drafts that were kept. Only answers count whose "
    "model was measured in a context of about the same length, while nothing else held the computer back."
)


def answers(count: int) -> str:
    """Return how many answers there are."""
    return tr("1 answer") if count == 1 else tr("{count} answers").format(count=f"{count:,}")


def days(history: History) -> str:
    """Return on how many days the answers were given, and how many others there are."""
    count = len(history.days)
    said = tr("on 1 day") if count == 1 else tr("on {count} days").format(count=f"{count:,}")
    if history.total.answers == history.kept:
        return said
    return tr("of {kept}, {days}").format(kept=f"{history.kept:,}", days=said)


def writing(spread: Spread | None) -> str:
    """Return the middle speed, as in "41 tok/s"."""
    return UNKNOWN if spread is None else tr("{speed} tok/s").format(speed=speed(spread.median))


def middle_half(spread: Spread | None) -> str:
    """Return between which speeds half of the answers lie, and how many have one."""
    if spread is None:
        return tr("no answer was long enough")
    quartiles = span(spread)
    if not quartiles:
        return tr("of {answers}").format(answers=answers(spread.answers))
    return tr("middle half of {count}: {span}").format(count=f"{spread.answers:,}", span=quartiles)


def span(spread: Spread) -> str:
    """Return between which speeds half of the answers lie, "" where there are too few to say."""
    if spread.answers < FEWEST_QUARTILES:
        return ""
    return f"{speed(spread.low)}–{speed(spread.high)}"


def seconds(middle: Middle | None) -> str:
    """Return the middle time, as in "0.4 s"."""
    if middle is None:
        return UNKNOWN
    pattern = "{:.2f}" if middle.median < 0.95 else "{:.1f}"
    return tr("{seconds} s").format(seconds=pattern.format(middle.median))


def kept(summary: Summary) -> str:
    """Return the share of the drafted tokens that the models kept, as in "71 %"."""
    return UNKNOWN if summary.acceptance_rate is None else percent(summary.acceptance_rate)


def kept_of(summary: Summary) -> str:
    """Return of how many drafted tokens the share is, and whether they are too few to say much."""
    if summary.mean_length is None:
        return tr("nothing was drafted")
    of = tr("of {count} drafted · {length} per step")
    few = tr("of only {count} drafted · {length} per step")
    return (few if is_few(summary) else of).format(
        count=f"{summary.drafted:,}", length=f"{summary.mean_length:.2f}"
    )


def is_few(summary: Summary) -> bool:
    """Whether so few steps were verified that shares of them say little."""
    return summary.verify_steps < FEW_STEPS


def saved(estimate: TimeSaved) -> str:
    """Return the time that drafting gained, or lost, as in "12 min saved"."""
    if estimate.seconds is None:
        return UNKNOWN
    if abs(estimate.seconds) < _LEAST_SAVED_S:
        return tr("no time saved to speak of")
    time = words.duration(abs(estimate.seconds))
    if estimate.seconds < 0:
        return tr("{time} lost").format(time=time)
    return tr("{time} saved").format(time=time)


def saved_from(estimate: TimeSaved) -> str:
    """Return what the time saved is estimated from, or what is missing."""
    if not estimate.answers:
        return tr("nothing was drafted")
    if estimate.seconds is None:
        return tr("no measurement to compare with")
    return tr("from {covered} of {answers}").format(
        covered=f"{estimate.covered:,}", answers=answers(estimate.answers)
    )


def part(grouping: Grouping, group: Group) -> str:
    """Return what a group is beside its model."""
    if grouping is not Grouping.CONTEXT:
        return ""
    if group.bucket is None:
        return tr("more than {count}k").format(count=CONTEXT_BUCKETS[-1] // 1024)
    return said(sentences.context(group.bucket))


def unreadable(history: History) -> str:
    """Return what is said of records that are damaged, "" when there are none."""
    if not history.unreadable:
        return ""
    one = tr("The figures of 1 answer cannot be read and are left out; nothing was deleted.")
    many = tr("The figures of {count} answers cannot be read and are left out; nothing was deleted.")
    return one if history.unreadable == 1 else many.format(count=f"{history.unreadable:,}")


def later(history: History) -> str:
    """Return what is said of answers of days to come, "" when there are none."""
    if not history.later:
        return ""
    one = tr("1 answer has a date after today, as after a clock that was wrong, and is left out.")
    many = tr("{count} answers have a date after today, as after a clock that was wrong, and are left out.")
    return one if history.later == 1 else many.format(count=f"{history.later:,}")


def period(days: int | None) -> str:
    """Return what the last days are called, None for all of them."""
    if days is None:
        return tr("All days")
    return tr("Last year") if days == 365 else tr("Last {count} days").format(count=days)


def why_nothing(history: History) -> str:
    """Return why there is nothing to see, "" when there is something."""
    if not history.kept:
        return tr("No answers yet.\nThe speed and the counts of each one are kept here, without its text.")
    if history.total.answers:
        return ""
    return tr("None of {answers} fits this choice.").format(answers=answers(history.kept))


def chart_heading(history: History) -> str:
    """Return what the chart shows, and where several models are mixed in it, a word of caution."""
    if history.choice.model is None and len(history.models) > 1:
        return tr("Writing speed by day, tok/s; all models together, of which some are faster than others")
    return tr("Writing speed by day, tok/s: the median, and the middle half of the answers")
