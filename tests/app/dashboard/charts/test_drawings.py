"""Every chart, before it is painted: its marks are where its figures are, and all of it is inside."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard.charts.axis import Unit, share_text
from app.dashboard.charts.bars import AcceptedHistogram, PositionBars, RangeBar, RangeBars
from app.dashboard.charts.drawing import Area, Box, Canvas, Curve, Dot, Fill, Ink, Rule, Stroke, Text
from app.dashboard.charts.lines import CostCurve, CostCurves, DailyMedians, DayMetric, SpeedStrip, break_even
from mtplx_engine.measure.measurement import Ratio, VerifyCurve

DAY = dt.date(2026, 10, 1)


def canvas(figures, width=480):
    return Canvas(width, figures.height, lambda text: 7.0 * len(text))


def drawn(figures, width=480):
    return figures.drawing(canvas(figures, width))


def shapes(drawing, kind, ink=None):
    return [shape for shape in drawing.shapes if isinstance(shape, kind) and ink in (None, shape.ink)]


def texts(drawing):
    return [words.text for words in shapes(drawing, Text)]


# ---------------------------------------------------------------- all of them

speed_values = st.floats(0.01, 1e5)


@st.composite
def range_bars(draw):
    bars = []
    for label in draw(st.lists(st.sampled_from(["plain", "depth 2", "another language"]), max_size=5)):
        low, median, high = sorted(draw(st.tuples(speed_values, speed_values, speed_values)))
        bars.append(RangeBar(label, median, low, high, draw(st.integers(1, 9)), draw(st.booleans())))
    return RangeBars(tuple(bars), draw(st.sampled_from([Unit.SPEED, Unit.TIMES])))


@st.composite
def positions(draw):
    steps = draw(st.integers(0, 5000))
    counts, left = [], steps
    for _ in range(draw(st.integers(0, 8))):
        left = draw(st.integers(0, left))
        counts.append(left)
    return tuple(counts), steps


@st.composite
def cost_curves(draw):
    costs = st.lists(st.floats(0.5, 20), min_size=1, max_size=8)
    curves = draw(st.lists(costs, max_size=2))
    shown = tuple(CostCurve(1024 * (index + 1), (1.0, *costs)) for index, costs in enumerate(curves))
    at, steps = draw(positions())
    return CostCurves(shown, break_even(at, steps, draw(st.floats(0, 1))) if steps else (), steps)


@st.composite
def daily_medians(draw):
    days, when = [], DAY
    for _ in range(draw(st.integers(0, 40))):
        when += dt.timedelta(days=draw(st.sampled_from([1, 1, 1, 2, 30])))
        low, median, high = sorted(draw(st.tuples(speed_values, speed_values, speed_values)))
        days.append(DayMetric(when, low, median, high, draw(st.integers(1, 99))))
    return DailyMedians(tuple(days), draw(st.sampled_from(list(Unit))))


everything = st.one_of(
    range_bars(),
    positions().map(lambda figures: PositionBars(*figures)),
    positions().map(lambda figures: AcceptedHistogram.of(*figures)),
    cost_curves(),
    st.lists(st.none() | speed_values, min_size=1, max_size=60).map(tuple).map(SpeedStrip),
    daily_medians(),
)


def edges(shape):
    match shape:
        case Box():
            yield from ((shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height))
            assert shape.width >= 0
            assert shape.height >= 0
        case Rule():
            yield from ((shape.x1, shape.y1), (shape.x2, shape.y2))
        case Curve() | Area():
            yield from shape.points
        case Dot() | Text():
            yield shape.x, shape.y


@given(everything, st.integers(240, 1200))
def test_all_is_inside_and_each_row_of_the_table_has_its_spot(figures, width):
    table = figures.table()
    assert all(len(row) == len(table.head) for row in table.rows)
    if figures.empty_text:
        assert table.rows == ()
        return
    drawing = drawn(figures, width)
    assert len(drawing.spots) == len(table.rows) > 0
    for shape in drawing.shapes:
        for x, y in edges(shape):
            assert -0.01 <= x <= width + 0.01, shape
            assert -0.01 <= y <= figures.height + 0.01, shape
    for spot in drawing.spots:
        assert spot.distance(*spot.at) <= 8.01
        assert 0 <= spot.at[0] <= width + 0.01


@pytest.mark.parametrize(
    "figures",
    [
        RangeBars(()),
        PositionBars((), 0),
        PositionBars((), 12),
        PositionBars((0, 0), 0),
        AcceptedHistogram(()),
        AcceptedHistogram.of((), 0),
        CostCurves(()),
        SpeedStrip((None,) * 60),
        DailyMedians(()),
    ],
)
def test_what_is_unknown_is_said_in_words_and_never_a_zero(figures):
    assert figures.empty_text.endswith(".")
    assert figures.table().rows == ()


# ---------------------------------------------------------------- range bars

SPEEDS = RangeBars((RangeBar("plain", 133, 128, 139, 6, drafted=False), RangeBar("depth 2", 216, 201, 229, 6)))


def test_speeds_begin_at_nothing_and_are_as_long_as_they_are():
    drawing = drawn(SPEEDS)
    plain, drafted = shapes(drawing, Box)
    assert (plain.ink, drafted.ink) == (Ink.PLAIN, Ink.DRAFTED)
    assert plain.x == drafted.x
    assert drafted.width / plain.width == pytest.approx(216 / 133)
    assert {"133 tok/s", "128–139 tok/s · 6 runs", "216 tok/s"} <= set(texts(drawing))


def test_ratios_begin_at_plain_decoding_and_say_slower_in_a_word_and_a_pattern():
    bars = (
        RangeBar.of("chat", Ratio.of([1.55, 1.62, 1.70])),
        RangeBar.of("maths", Ratio.of([0.97, 0.999, 1.05])),
        RangeBar.of("code", Ratio.of([0.55, 0.6, 0.66])),
        RangeBar.of("copy-edit", Ratio.of([1.4])),
    )
    drawing = drawn(RangeBars(bars, Unit.TIMES))
    faster, even, slower, few = shapes(drawing, Box)
    base = next(rule.x1 for rule in shapes(drawing, Rule, Ink.AXIS))
    assert faster.x == few.x == base
    assert slower.x + slower.width == pytest.approx(base)
    assert even.x + even.width == pytest.approx(base)
    assert [box.fill for box in (faster, even, slower, few)] == [
        Fill.SOLID,
        Fill.SOLID,
        Fill.HATCHED,
        Fill.HOLLOW,
    ]
    told = set(texts(drawing))
    assert {"1.62x faster", "0.99x no clear difference", "0.60x slower", "1.40x", "too few: 1 pair"} <= told
    assert len(shapes(drawing, Rule, Ink.TEXT)) == 9  # three whiskers of three lines: one pair has no range


# ---------------------------------------------------------------- acceptance


def test_acceptance_by_position_comes_with_its_sample():
    drawing = drawn(PositionBars((325, 268, 173), 412))
    track, first = shapes(drawing, Box)[:2]
    assert first.width / track.width == pytest.approx(325 / 412)
    assert {"79 %", "325 of 412", "65 %", "42 %"} <= set(texts(drawing))


@pytest.mark.parametrize(("steps", "ink"), [(49, Ink.PLAIN), (50, Ink.DRAFTED)])
def test_few_steps_are_grey_and_hollow(steps, ink):
    drawing = drawn(PositionBars((steps - 9,), steps))
    bar = shapes(drawing, Box)[1]
    assert bar.ink is ink
    assert (bar.fill is Fill.HOLLOW) is (steps < 50)
    assert any(text.startswith("only ") for text in texts(drawing)) is (steps < 50)


@given(positions())
def test_the_histogram_sums_to_the_steps_and_its_mean_to_what_was_accepted(figures):
    accepted_at, steps = figures
    histogram = AcceptedHistogram.of(accepted_at, steps)
    assert sum(histogram.steps) == steps
    assert sum(kept * count for kept, count in enumerate(histogram.steps)) == sum(accepted_at)
    assert min(histogram.steps, default=0) >= 0


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (0.001, "<1 %"), (0.006, "1 %"), (0.994, "99 %"), (0.996, ">99 %"), (1, "100 %")],
)
def test_a_share_never_looks_like_none_or_all_when_it_is_not(share, words):
    assert share_text(share) == words


# ---------------------------------------------------------------- the cost of verifying


@given(positions(), st.floats(0, 0.5), st.floats(0.5, 6))
def test_break_even_is_where_drafting_takes_as_long_as_plain_decoding(figures, draft, cost):
    accepted_at, steps = figures
    if not steps:
        return
    for count, may_cost in enumerate(break_even(accepted_at, steps, draft), 1):
        a_token = (cost + (count - 1) * draft) / (1 + sum(accepted_at[: count - 1]) / steps)
        if abs(a_token - 1) > 1e-9:
            assert (cost < may_cost) == (a_token < 1)


def test_curves_are_relative_and_drafting_counts_where_it_costs_most():
    measured = (
        VerifyCurve(1024, (0.010, 0.011, 0.012, 0.014), 0.001),
        VerifyCurve(8192, (0.020, 0.022, 0.026, 0.030), 0.004),
    )
    figures = CostCurves.of(measured, (80, 60), 100)
    assert [curve.costs for curve in figures.curves] == [
        pytest.approx((1, 1.1, 1.2, 1.4)),
        pytest.approx((1, 1.1, 1.3, 1.5)),
    ]
    assert figures.may_cost == pytest.approx((1, 1.8 - 0.2, 2.4 - 0.4))
    drawing = drawn(figures)
    line, _sample, near, far = shapes(drawing, Curve)
    assert (line.stroke, near.stroke, far.stroke) == (Stroke.DOTTED, Stroke.SOLID, Stroke.DASHED)
    assert {"after 1,024 tokens", "after 8,192 tokens", "drafting pays below"} <= set(texts(drawing))
    assert figures.table().rows[2] == ("3", "1.20x", "1.30x", "2.00x")
    assert drawing.spots[2].text.split("\n") == [
        "3 tokens",
        "after 1,024 tokens: 1.20x",
        "after 8,192 tokens: 1.30x",
        "may cost 2.00x",
    ]
    assert figures.table().rows[3][-1] == ""  # nothing is known of a third position


def test_without_a_drafter_or_a_sample_there_is_no_line():
    curve = VerifyCurve(1024, (0.01, 0.011), None)
    assert CostCurves.of((curve,), (80,), 100).may_cost == ()
    assert CostCurves.of((VerifyCurve(1024, (0.01, 0.011), 0.001),), (), 0).may_cost == ()


def test_a_line_out_of_few_steps_says_so():
    figures = CostCurves((CostCurve(1024, (1, 1.1)),), (1, 1.6), 12)
    assert "drafting pays below (known of only 12 steps)" in texts(drawn(figures))


# ---------------------------------------------------------------- times


def test_the_strip_has_gaps_where_nothing_was_written():
    speeds = (None, 40.0, 42.0, None, None, 38.0, None, 50.0, 51.0, 52.0)
    drawing = drawn(SpeedStrip(speeds))
    assert [len(curve.points) for curve in shapes(drawing, Curve)] == [2, 3]
    assert len(shapes(drawing, Dot)) == 1
    assert drawing.spots[3].text == "6 s ago: nothing written"
    assert drawing.spots[-1].text == "now: 52 tok/s"


def test_a_day_with_few_answers_has_a_median_and_no_middle_half():
    days = tuple(
        DayMetric(DAY + dt.timedelta(days=offset), 30, 40, 45, answers)
        for offset, answers in enumerate((4, 4, 3, 1, 4, 2))
    )
    medians = DailyMedians(days)
    drawing = drawn(medians)
    assert [len(area.points) for area in shapes(drawing, Area)] == [4]
    assert [box.ink for box in shapes(drawing, Box)] == [Ink.BAND]
    assert len(shapes(drawing, Dot)) == len(days)
    assert ["middle half" in spot.text for spot in drawing.spots] == [not day.few for day in days]
    assert [row[2:4] == ("–", "–") for row in medians.table().rows] == [day.few for day in days]


def test_days_without_answers_break_the_band_and_dot_the_line():
    days = tuple(DayMetric(DAY + dt.timedelta(days=offset), 30, 40, 45, 4) for offset in (0, 1, 2, 6, 7, 20))
    drawing = drawn(DailyMedians(days))
    assert [len(area.points) for area in shapes(drawing, Area)] == [6, 4]
    lines = shapes(drawing, Curve)
    assert [line.stroke for line in lines].count(Stroke.DOTTED) == 2
    assert [len(line.points) for line in lines if line.stroke is Stroke.SOLID] == [3, 2]
    assert drawing.spots[0].text == "1 Oct 2026: 40 tok/s\nmiddle half 30–45 tok/s · 4 answers"
    across = [spot.at[0] for spot in drawing.spots]
    assert (across[3] - across[2]) == pytest.approx(4 * (across[1] - across[0]))


def test_dates_below_do_not_touch():
    days = tuple(DayMetric(DAY + dt.timedelta(days=offset), 30, 40, 45, 4) for offset in range(400))
    drawing = drawn(DailyMedians(days), 300)
    below = [words for words in shapes(drawing, Text) if "20" in words.text and " " in words.text]
    reach = [(words.x - 3.5 * len(words.text), words.x + 3.5 * len(words.text)) for words in below]
    assert len(reach) > 1
    assert all(first[1] < second[0] for first, second in pairwise(reach))
    assert not shapes(drawing, Dot)  # they would be one worm
