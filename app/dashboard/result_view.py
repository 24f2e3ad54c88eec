"""The cards of a result: a measurement in numbers and charts, and a report of exactness."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.dashboard import result_text
from app.dashboard.charts.axis import Unit
from app.dashboard.charts.bars import PositionBars, RangeBar, RangeBars
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import CostCurves
from app.i18n import said, tr
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.widgets.cards import Section
from app.widgets.labels import PlainLabel
from mtplx_engine.measure import results, sentences
from mtplx_engine.measure.results import Exactness, judge_exactness

if TYPE_CHECKING:
    from app.theme import Theme
    from mtplx_engine.measure.measurement import ExactnessReport, Measurement
    from mtplx_engine.measure.results import DepthResult


_FEWEST_KINDS = 2
_MOST_CURVES = 2


def speeds_chart(measurement: Measurement) -> RangeBars:
    bars = []
    for depth in (0, *measurement.depths):
        runs = [run.stats.decode_tps for run in measurement.runs if run.depth == depth]
        known = [speed for speed in runs if speed is not None]
        if known:
            label = tr("depth {depth}").format(depth=depth) if depth else tr("plain")
            bars.append(
                RangeBar(label, statistics.median(known), min(known), max(known), len(known), drafted=depth > 0)
            )
    return RangeBars(tuple(bars))


def kinds_chart(best: DepthResult) -> RangeBars:
    """Return the wall ratios by kind of prompts; empty when there is but one kind."""
    bars = tuple(RangeBar.of(said(sentences.kind(kind)), ratio) for kind, ratio in best.by_kind)
    return RangeBars(bars if len(bars) >= _FEWEST_KINDS else (), Unit.TIMES)


def costs_chart(measurement: Measurement, best: DepthResult) -> CostCurves:
    """Return the cost of verifying at the shortest and the longest measured context, and the break-even cost."""
    curves = measurement.curves
    shown = curves if len(curves) <= _MOST_CURVES else (curves[0], curves[-1])
    return CostCurves.of(shown, best.accepted_at, best.verify_steps)


_HEADLINE_PX = 26


class ResultCard(QFrame):
    """Shows one measurement.

    Attributes:
        draft_again: Lets the model draft although it was slower; shown when drafting is turned off.
        facts: The text of each row at the bottom, by its key.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: tuple[Measurement, str] | None = None
        self.setObjectName("card")
        self.headline = PlainLabel(theme, _HEADLINE_PX, weight=QFont.Weight.DemiBold)
        self._note = PlainLabel(theme, CODE_PX)
        self._taken = PlainLabel(theme, SMALL_PX, "secondary")
        self._taken.setWordWrap(False)
        self._request = PlainLabel(theme, SMALL_PX, "secondary")
        self._doubts = {name: PlainLabel(theme, SMALL_PX, "warning") for name in ("stale", "pressure", "cross")}
        self._speeds = Chart(theme, tr("Tokens per second while writing"), RangeBars(()))
        self._kinds = Chart(theme, tr("Whole request against plain decoding, by kind"), RangeBars((), Unit.TIMES))
        self._positions = Chart(theme, tr("Acceptance by position"), PositionBars((), 0))
        self._costs = Chart(theme, tr("What verifying several tokens at once costs"), CostCurves(()))
        self._length, self._kept = PlainLabel(theme), PlainLabel(theme, SMALL_PX, "secondary")
        self._cost, self._expected = PlainLabel(theme), PlainLabel(theme)
        self._why = PlainLabel(theme, SMALL_PX, "secondary")
        self.draft_again = QPushButton(tr("Let It Draft Again"))
        self.draft_again.setToolTip(
            tr("Drafting is then chosen by what each chat shows, until it is measured again; what was measured stays.")
        )
        self.draft_again.setAccessibleDescription(self.draft_again.toolTip())
        self.export = QPushButton(tr("Export…"))
        names = {
            "memory": tr("Memory at its peak"),
            "identical": tr("Answers"),
            "conditions": tr("Conditions"),
            "subject": tr("Measured"),
            "machine": tr("Where"),
        }
        self.facts = {name: PlainLabel(theme, SMALL_PX) for name in names}
        self._lay_out(names)
        self.hide()

    def show_result(self, measurement: Measurement | None, stale: str) -> None:
        """Show a measurement, and why it may not hold any more ("" if it does); hide without one."""
        self.setVisible(measurement is not None)
        if measurement is None or (measurement, stale) == self._shown:
            return
        self._shown = measurement, stale
        found = results.results_of(measurement)
        headline = result_text.headline(measurement)
        self.headline.say(headline.text, "secondary" if stale else str(headline.tone or ""))
        self._note.say(headline.note)
        self._taken.say(result_text.day(measurement))
        self._doubts["stale"].say(stale)
        self._doubts["pressure"].say(said(sentences.pressure(measurement)))
        self._doubts["cross"].say(*result_text.cross_check(measurement))
        self.draft_again.setVisible(results.turns_off(measurement) and not stale)
        self._speeds.show_data(speeds_chart(measurement))
        if found.headline is not None:
            self._show_depth(measurement, found.headline)
            self.facts["memory"].say(said(sentences.memory(found.headline, found.plain)))
        self.facts["conditions"].say(said(sentences.conditions(measurement)))
        subject, machine = sentences.provenance(measurement)
        self.facts["subject"].say(said(subject))
        self.facts["machine"].say(said(machine))

    def _show_depth(self, measurement: Measurement, best: DepthResult) -> None:
        self._request.say(said(sentences.whole_request(best)))
        kinds = kinds_chart(best)
        self._kinds.show_data(kinds)
        self._kinds_part.setVisible(not kinds.empty_text)
        self._positions.show_data(PositionBars(best.accepted_at, best.verify_steps))
        self._length.say(said(sentences.per_step(best)), "tertiary" if best.few else "")
        self._kept.say(said(sentences.kept(best)), "tertiary" if best.few else "secondary")
        self._cost.say(said(sentences.cost(best)))
        self._expected.say(said(sentences.expected(best)))
        self._why.say(said(sentences.explanation(best, measurement)))
        costs = costs_chart(measurement, best)
        self._costs.show_data(costs)
        self._costs_part.setVisible(not costs.empty_text)
        self.facts["identical"].say(said(sentences.identical(best, measurement)))

    # ------------------------------------------------------------ layout

    def _lay_out(self, names: dict[str, str]) -> None:
        self._kinds_part = self._part(self._kinds.accessibleName(), self._kinds)
        self._costs_part = self._part(self._costs.accessibleName(), self._costs)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        column.setSpacing(SPACE_L)
        column.addLayout(self._top())
        column.addWidget(self._part(self._speeds.accessibleName(), self._speeds))
        middle = QHBoxLayout()
        middle.setSpacing(SPACE_XL)
        middle.addWidget(self._part(self._positions.accessibleName(), self._positions, self._length, self._kept), 1)
        middle.addWidget(self._part(tr("Cost of a step"), self._cost, self._expected, self._why), 1)
        column.addLayout(middle)
        column.addWidget(self._kinds_part)
        column.addWidget(self._costs_part)
        column.addLayout(self._bottom(names))

    def _top(self) -> QVBoxLayout:
        first = QHBoxLayout()
        first.addWidget(self.headline, 1)
        first.addWidget(self._taken, 0, Qt.AlignmentFlag.AlignTop)
        top = QVBoxLayout()
        top.setSpacing(SPACE_XS)
        top.addLayout(first)
        for label in (self._note, self._request, *self._doubts.values()):
            top.addWidget(label)
        again = QHBoxLayout()
        again.setContentsMargins(0, SPACE_XS, 0, 0)
        again.addWidget(self.draft_again)
        again.addStretch(1)
        top.addLayout(again)
        return top

    def _part(self, heading: str, *widgets: QWidget) -> QWidget:
        part = Section(self._theme, heading)
        for widget in widgets:
            part.add(widget)
        part.add_stretch()
        return part

    def _bottom(self, names: dict[str, str]) -> QHBoxLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_M)
        grid.setVerticalSpacing(SPACE_S // 2)
        grid.setColumnStretch(1, 1)
        for row, (key, name) in enumerate(names.items()):
            label = PlainLabel(self._theme, SMALL_PX, "secondary")
            label.setWordWrap(False)
            label.say(name)
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(self.facts[key], row, 1)
        bottom = QHBoxLayout()
        bottom.setSpacing(SPACE_L)
        bottom.addLayout(grid, 1)
        bottom.addWidget(self.export, 0, Qt.AlignmentFlag.AlignBottom)
        return bottom


_FACTS = 4


class ExactnessCard(QFrame):
    """Shows a report of exactness, or describes the check.

    Attributes:
        turn_off: Turns drafting off; shown when drafting changes what the model says.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        title = PlainLabel(theme, TEXT_PX, weight=QFont.Weight.DemiBold)
        title.say(tr("Does drafting change what it says?"))
        self.verdict = PlainLabel(theme, CODE_PX)
        self._advice = PlainLabel(theme, CODE_PX)
        self._limits = PlainLabel(theme, SMALL_PX, "secondary")
        self.button = QPushButton()
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.turn_off = QPushButton(tr("Turn Drafting Off"))
        self.turn_off.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(SPACE_M)
        self._grid.setVerticalSpacing(SPACE_XS)
        self._grid.setColumnStretch(1, 1)
        self._facts = [(PlainLabel(theme, SMALL_PX, "secondary"), PlainLabel(theme, SMALL_PX)) for _ in range(_FACTS)]
        for row, (name, value) in enumerate(self._facts):
            name.setWordWrap(False)
            self._grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, row, 1)
        top = QHBoxLayout()
        top.setSpacing(SPACE_L)
        names = QVBoxLayout()
        names.setSpacing(SPACE_XS)
        for label in (title, self.verdict, self._advice):
            names.addWidget(label)
        top.addLayout(names, 1)
        for button in (self.turn_off, self.button):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addLayout(top)
        column.addLayout(self._grid)
        column.addWidget(self._limits)

    def show_report(self, report: ExactnessReport | None, objection: str) -> None:
        """Show a report, None before the first check, and why no check can start now ("" when one can)."""
        self.button.setText(tr("Check") if report is None else tr("Check Again"))
        self.button.setEnabled(not objection)
        self.button.setAccessibleDescription(objection)
        self.button.setToolTip(objection)
        self.turn_off.setVisible(report is not None and judge_exactness(report) is Exactness.DIFFERENT)
        for name, value in self._facts:
            name.say("")
            value.say("")
        if report is None:
            self.verdict.say(
                tr(
                    "Compares drafted with plain decoding on your own model: the chances of each next word, answers "
                    "at temperature 0, and words drawn at random."
                ),
                "secondary",
            )
            self._advice.say("")
            self._limits.say("")
            return
        self.verdict.say(*result_text.exactness(report))
        self._advice.say(result_text.advice(report))
        for (name, value), (about, result) in zip(self._facts, sentences.compared(report), strict=True):
            name.say(said(about))
            value.say(said(result))
        self._limits.say(said(sentences.limits(report)))
