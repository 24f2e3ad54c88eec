"""Every chart on one page: with much behind it, with little, with nothing, pointed at and chosen by the keys."""

from __future__ import annotations

import datetime as dt
import itertools
import random

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.dashboard.charts.axis import Unit
from app.dashboard.charts.bars import AcceptedHistogram, PositionBars, RangeBar, RangeBars
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import CostCurve, CostCurves, DailyMedians, DayMetric, SpeedStrip, break_even
from app.theme import SPACE_L, SPACE_XL
from app.widgets.cards import Section

_SIZE = (1080, 1180)
_ACCEPTED_AT, _STEPS = (325, 268, 173), 412
_FIRST_DAY = dt.date(2026, 10, 1)
_SILENT = {9, 10, 11, 17, 19, 30}  # days without answers


def _days(count):
    chance = random.Random(3)
    for offset in range(count):
        median = 40 + 8 * chance.random()
        lower, upper = median - 3 - 4 * chance.random(), median + 3 + 4 * chance.random()
        if offset not in _SILENT:
            yield DayMetric(_FIRST_DAY + dt.timedelta(days=offset), lower, median, upper, 3 + offset % 5)


def _minute():
    chance = random.Random(5)
    for second in range(60):
        yield None if second < 8 or 30 <= second < 41 else 42 + 8 * chance.random()


SPEEDS = RangeBars(
    (
        RangeBar("plain", 133, 128, 139, 6, drafted=False),
        RangeBar("depth 2", 216, 201, 229, 6),
        RangeBar("depth 4", 190, 190, 190, 1),
    )
)
RATIOS = RangeBars(
    (
        RangeBar("chat", 1.62, 1.55, 1.70, 3),
        RangeBar("code", 1.02, 0.97, 1.06, 3),
        RangeBar("another language", 0.88, 0.83, 0.96, 3),
        RangeBar("maths", 1.30, 1.30, 1.30, 1),
    ),
    Unit.TIMES,
)
COSTS = CostCurves(
    (
        CostCurve(1024, (1, 1.05, 1.10, 1.18, 1.30, 1.50, 1.70, 1.95)),
        CostCurve(8192, (1, 1.12, 1.25, 1.40, 1.62, 1.90, 2.20, 2.60)),
    ),
    break_even((*_ACCEPTED_AT, 110), _STEPS, 0.12),
    _STEPS,
)
FIGURES = {
    "Tokens per second": SPEEDS,
    "Whole request against plain decoding": RATIOS,
    "Acceptance by position": PositionBars(_ACCEPTED_AT, _STEPS),
    "Acceptance by position, few steps": PositionBars((20, 11, 3), 31),
    "Accepted per step": AcceptedHistogram.of(_ACCEPTED_AT, _STEPS),
    "Accepted per step, few steps": AcceptedHistogram.of((20, 11, 3), 31),
    "Cost of verifying several tokens": COSTS,
    "Speed by day": DailyMedians(tuple(_days(40))),
    "Speed over the last minute": SpeedStrip(tuple(_minute())),
    "Speed over the last minute, nothing": SpeedStrip((None,) * 60),
}
_POINTED = {
    "Acceptance by position": 1,
    "Cost of verifying several tokens": 3,
    "Speed over the last minute": 45,
}
_FOCUSED = "Speed by day"


def gallery(theme):
    """Return the page, on the screen."""
    page = QWidget()
    page.setObjectName("settingsWindow")
    page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    grid = QGridLayout(page)
    grid.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_XL)
    grid.setHorizontalSpacing(2 * SPACE_XL)
    grid.setVerticalSpacing(SPACE_L)
    charts = {name: Chart(theme, name, figures) for name, figures in FIGURES.items()}
    for (name, chart), place in zip(charts.items(), itertools.count()):
        section = Section(theme, name)
        section.add(chart)
        section.add_stretch()
        grid.addWidget(section, place // 2, place % 2)
    page.resize(*_SIZE)
    page.show()
    page.activateWindow()
    charts[_FOCUSED].setFocus()
    charts[_FOCUSED].setCurrentIndex(charts[_FOCUSED].model().index(12, 0))
    for name, row in _POINTED.items():
        charts[name]._point(row)
    return page
