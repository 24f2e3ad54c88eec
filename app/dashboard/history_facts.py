"""The history at a glance: a few figures side by side, each with how much it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.dashboard import history_words
from app.theme import SMALL_PX, SPACE_L
from app.translate import tr
from app.widgets.plain_label import PlainLabel

if TYPE_CHECKING:
    from app.services.history import History, TimeSaved
    from app.theme import Theme

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
        self._figure.say(figure, "tertiary" if figure == history_words.UNKNOWN else tone)
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
        self.saved = Fact(theme, tr("By drafting, estimated"), tr(history_words.SAVED_TIP))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_L)
        for column, (fact, share) in enumerate(
            ((self.answers, 2), (self.writing, 3), (self.kept, 3), (self.saved, 3))
        ):
            grid.addWidget(fact, 0, column)
            grid.setColumnStretch(column, share)
            grid.setColumnMinimumWidth(column, share)

    def show_history(self, history: History, estimate: TimeSaved) -> None:
        """Show the figures of a history."""
        total = history.total
        self.answers.show_figure(f"{total.answers:,}", history_words.days(history))
        self.writing.show_figure(history_words.writing(total.speed), history_words.middle_half(total.speed))
        few = "tertiary" if history_words.is_few(total) else ""
        self.kept.show_figure(history_words.kept(total), history_words.kept_of(total), few)
        lost = estimate.seconds is not None and estimate.seconds < 0
        self.saved.show_figure(
            history_words.saved(estimate), history_words.saved_from(estimate), "slower" if lost else ""
        )
