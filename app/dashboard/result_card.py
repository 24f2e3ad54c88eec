"""What a measurement found: the verdict, what it comes of, and under which conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.dashboard import result_figures, result_words
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.cost_curves import CostCurves
from app.dashboard.charts.position_bars import PositionBars
from app.dashboard.charts.range_bars import RangeBars
from app.dashboard.charts.unit import Unit
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS
from app.translate import said, tr
from app.widgets.plain_label import PlainLabel
from app.widgets.section import Section
from mtplx_engine import results
from mtplx_engine.bench import sentences

if TYPE_CHECKING:
    from app.theme import Theme
    from mtplx_engine.measurement import Measurement
    from mtplx_engine.results import DepthResult

_HEADLINE_PX = 26


class ResultCard(QFrame):
    """Shows one measurement.

    Attributes:
        headline: The verdict.
        draft_again: Lets the model draft although it was slower; there when drafting is turned off.
        export: Writes what was measured to a file.
        facts: The words of the lowest part, by what they are about.
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
        self._doubts = {
            name: PlainLabel(theme, SMALL_PX, "warning") for name in ("stale", "pressure", "cross")
        }
        self._speeds = Chart(theme, tr("Tokens per second while writing"), RangeBars(()))
        self._kinds = Chart(
            theme, tr("Whole request against plain decoding, by kind"), RangeBars((), Unit.TIMES)
        )
        self._positions = Chart(theme, tr("Acceptance by position"), PositionBars((), 0))
        self._costs = Chart(theme, tr("What verifying several tokens at once costs"), CostCurves(()))
        self._length, self._kept = PlainLabel(theme), PlainLabel(theme, SMALL_PX, "secondary")
        self._cost, self._expected = PlainLabel(theme), PlainLabel(theme)
        self._why = PlainLabel(theme, SMALL_PX, "secondary")
        self.draft_again = QPushButton(tr("Let It Draft Again"))
        self.draft_again.setToolTip(
            tr(
                "Drafting is then chosen by what each chat shows, until it is measured again; what was measured stays."
            )
        )
        self.draft_again.setAccessibleDescription(self.draft_again.toolTip())
        self.export = QPushButton(tr("Export…"))
        names = {
            "memory": tr("Memory at its peak"),
            "identical": tr("Answers"),
            "conditions": tr("Conditions"),
            "what": tr("Measured"),
            "where": tr("Where"),
        }
        self.facts = {name: PlainLabel(theme, SMALL_PX) for name in names}
        self._lay_out(names)
        self.hide()

    def show_result(self, measurement: Measurement | None, stale: str) -> None:
        """Show a measurement, and why it may not be true any more; nothing when there is none."""
        self.setVisible(measurement is not None)
        if measurement is None or (measurement, stale) == self._shown:
            return
        self._shown = measurement, stale
        found = results.of(measurement)
        told = result_words.headline(measurement)
        self.headline.say(told.words, "secondary" if stale else str(told.tone or ""))
        self._note.say(told.note)
        self._taken.say(result_words.day(measurement))
        self._doubts["stale"].say(stale)
        self._doubts["pressure"].say(said(sentences.pressure(measurement)))
        self._doubts["cross"].say(*result_words.cross_check(measurement))
        self.draft_again.setVisible(results.turns_off(measurement) and not stale)
        self._speeds.show_figures(result_figures.speeds(measurement))
        if found.headline is not None:
            self._show_depth(measurement, found.headline)
            self.facts["memory"].say(said(sentences.memory(found.headline, found.plain)))
        self.facts["conditions"].say(said(sentences.conditions(measurement)))
        for name, told_ in zip(("what", "where"), sentences.provenance(measurement), strict=True):
            self.facts[name].say(said(told_))

    def _show_depth(self, measurement: Measurement, best: DepthResult) -> None:
        self._request.say(said(sentences.whole_request(best)))
        kinds = result_figures.kinds(best)
        self._kinds.show_figures(kinds)
        self._kinds_part.setVisible(not kinds.nothing)
        self._positions.show_figures(result_figures.positions(best))
        self._length.say(said(sentences.per_step(best)), "tertiary" if best.few else "")
        self._kept.say(said(sentences.kept(best)), "tertiary" if best.few else "secondary")
        self._cost.say(said(sentences.cost(best)))
        self._expected.say(said(sentences.expected(best)))
        self._why.say(said(sentences.explanation(best, measurement)))
        costs = result_figures.costs(measurement, best)
        self._costs.show_figures(costs)
        self._costs_part.setVisible(not costs.nothing)
        self.facts["identical"].say(said(sentences.identical(best, measurement)))

    # ------------------------------------------------------------ how it is laid out

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
        middle.addWidget(
            self._part(tr("Acceptance by position"), self._positions, self._length, self._kept), 1
        )
        middle.addWidget(self._part(tr("Cost of a step"), self._cost, self._expected, self._why), 1)
        column.addLayout(middle)
        column.addWidget(self._kinds_part)
        column.addWidget(self._costs_part)
        column.addLayout(self._bottom(names))

    def _top(self) -> QVBoxLayout:
        line = QHBoxLayout()
        line.addWidget(self.headline, 1)
        line.addWidget(self._taken, 0, Qt.AlignmentFlag.AlignTop)
        top = QVBoxLayout()
        top.setSpacing(SPACE_XS)
        top.addLayout(line)
        for words in (self._note, self._request, *self._doubts.values()):
            top.addWidget(words)
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
        for row, (name, words) in enumerate(names.items()):
            label = PlainLabel(self._theme, SMALL_PX, "secondary")
            label.setWordWrap(False)
            label.say(words)
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(self.facts[name], row, 1)
        bottom = QHBoxLayout()
        bottom.setSpacing(SPACE_L)
        bottom.addLayout(grid, 1)
        bottom.addWidget(self.export, 0, Qt.AlignmentFlag.AlignBottom)
        return bottom
