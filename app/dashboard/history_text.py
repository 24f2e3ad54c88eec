"""Sentences about the history of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.chat.metrics import speed
from app.i18n import marked, said, tr
from app.storage.stats import FEWEST_QUARTILES, Grouping
from app.theme import SMALL_PX, SPACE_L
from app.widgets.labels import PlainLabel
from mtplx_engine.measure import sentences
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, FEW_STEPS
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from app.storage.stats import AnswerHistory, Group, HistorySummary, Middle, Spread, TimeSaved
    from app.theme import Theme


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


def days(history: AnswerHistory) -> str:
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


def kept(summary: HistorySummary) -> str:
    """Return the share of the drafted tokens that the models kept, as in "71 %"."""
    return UNKNOWN if summary.acceptance_rate is None else percent(summary.acceptance_rate)


def kept_of(summary: HistorySummary) -> str:
    """Return of how many drafted tokens the share is, and whether they are too few to say much."""
    if summary.mean_length is None:
        return tr("nothing was drafted")
    of = tr("of {count} drafted · {length} per step")
    few = tr("of only {count} drafted · {length} per step")
    return (few if is_few(summary) else of).format(
        count=f"{summary.drafted:,}", length=f"{summary.mean_length:.2f}"
    )


def is_few(summary: HistorySummary) -> bool:
    """Whether so few steps were verified that shares of them say little."""
    return summary.verify_steps < FEW_STEPS


def saved(estimate: TimeSaved) -> str:
    """Return the time that drafting gained, or lost, as in "12 min saved"."""
    if estimate.seconds is None:
        return UNKNOWN
    if abs(estimate.seconds) < _LEAST_SAVED_S:
        return tr("no time saved to speak of")
    time = formatting.duration(abs(estimate.seconds))
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


def unreadable(history: AnswerHistory) -> str:
    """Return what is said of records that are damaged, "" when there are none."""
    if not history.unreadable:
        return ""
    one = tr("The figures of 1 answer cannot be read and are left out; nothing was deleted.")
    many = tr("The figures of {count} answers cannot be read and are left out; nothing was deleted.")
    return one if history.unreadable == 1 else many.format(count=f"{history.unreadable:,}")


def later(history: AnswerHistory) -> str:
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


def why_nothing(history: AnswerHistory) -> str:
    """Return why there is nothing to see, "" when there is something."""
    if not history.kept:
        return tr("No answers yet.\nThe speed and the counts of each one are kept here, without its text.")
    if history.total.answers:
        return ""
    return tr("None of {answers} fits this choice.").format(answers=answers(history.kept))


def chart_heading(history: AnswerHistory) -> str:
    """Return what the chart shows, and where several models are mixed in it, a word of caution."""
    if history.choice.model is None and len(history.models) > 1:
        return tr("Writing speed by day, tok/s; all models together, of which some are faster than others")
    return tr("Writing speed by day, tok/s: the median, and the middle half of the answers")


_FIGURE_PX = 20


class Fact(QWidget):
    """A figure, what it is, and what it rests on.

    Args:
        theme: The look.
        name: What it is.
        tip: What it means.
    """

    def __init__(self, theme: Theme, name: str, tip: str) -> None:
        super().__init__()
        self._name = PlainLabel(theme, SMALL_PX, "secondary")
        self._name.say(name)
        self._figure = PlainLabel(theme, _FIGURE_PX, weight=QFont.Weight.DemiBold)
        self._basis = PlainLabel(theme, SMALL_PX, "secondary")
        self.setToolTip(tip)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for label in (self._name, self._figure, self._basis):
            column.addWidget(label)
        column.addStretch(1)

    def show_figure(self, figure: str, basis: str, tone: str = "") -> None:
        """Show a figure and what it rests on."""
        self._figure.say(figure, "tertiary" if figure == UNKNOWN else tone)
        self._basis.say(basis)


class HistoryFacts(QWidget):
    """How fast, how well drafted, and how much time that saved."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answers = Fact(theme, tr("Answers"), "")
        self.writing = Fact(theme, tr("Writing, median"), tr("Tokens per second while an answer is written."))
        self.kept = Fact(
            theme,
            tr("Drafts kept"),
            tr("The share of the drafted tokens that the model itself would have chosen."),
        )
        self.saved = Fact(theme, tr("By drafting, estimated"), tr(SAVED_TIP))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_L)
        for column, (fact, share) in enumerate(
            ((self.answers, 2), (self.writing, 3), (self.kept, 3), (self.saved, 3))
        ):
            grid.addWidget(fact, 0, column)
            grid.setColumnStretch(column, share)
            grid.setColumnMinimumWidth(column, share)

    def show_history(self, history: AnswerHistory, estimate: TimeSaved) -> None:
        """Show the figures of a history."""
        total = history.total
        self.answers.show_figure(f"{total.answers:,}", days(history))
        self.writing.show_figure(writing(total.speed), middle_half(total.speed))
        few = "tertiary" if is_few(total) else ""
        self.kept.show_figure(kept(total), kept_of(total), few)
        lost = estimate.seconds is not None and estimate.seconds < 0
        self.saved.show_figure(saved(estimate), saved_from(estimate), "slower" if lost else "")
