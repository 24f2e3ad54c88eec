"""Ticks are round, evenly apart, few, and hold what is shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard.charts.axis import Axis, round_ticks

values = st.floats(-1e6, 1e6).map(lambda value: round(value, 4))


@given(values, values, st.integers(1, 8))
def test_ticks_hold_the_range_and_are_round(one, other, most):
    low, high = sorted((one, other))
    ticks = round_ticks(low, high, most)
    step = ticks[1] - ticks[0]
    assert ticks[0] <= low + 1e-6 * step
    assert ticks[-1] >= high - 1e-6 * step
    assert 2 <= len(ticks) <= most + 2
    assert all(right - left == pytest.approx(step) for left, right in pairwise(ticks))
    assert f"{step:.3e}"[:5] in {"1.000", "2.000", "5.000"}


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (0, 0.3, 3, (0.0, 0.1, 0.2, 0.3)),  # 3 * 0.1 is 0.30000000000000004
        (0.83, 1.7, 5, (0.8, 1.0, 1.2, 1.4, 1.6, 1.8)),
        (0, 229, 5, (0, 50, 100, 150, 200, 250)),
        (0, 0, 3, (0.0, 0.5, 1.0)),
        (7, 7, 3, (5.0, 10.0, 15.0)),
        (0, 12_345, 4, (0, 5_000, 10_000, 15_000)),
    ],
)
def test_ticks_by_hand(low, high, most, ticks):
    assert round_ticks(low, high, most) == ticks


def test_an_axis_maps_straight_and_keeps_inside():
    upright = Axis(1.0, 3.0, 100.0, 0.0)
    assert [upright.at(value) for value in (1.0, 1.5, 3.0, 0.0, 9.0)] == [100, 75, 0, 100, 0]
