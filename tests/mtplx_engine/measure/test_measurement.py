"""A ratio says in words only what its pairs bear out, and is shown on the side of one where it was measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.measure.measurement import Ratio, times


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.01, 2.0, 1.2), "faster"),
        ((0.5, 0.99, 0.999), "slower"),
        ((0.9, 1.1, 1.2), "no clear difference"),
        ((1.0, 1.0, 1.0), "no clear difference"),
        ((1.0, 1.1, 1.2), "no clear difference"),
        ((2.0, 3.0), "too few pairs"),
        ((0.1,), "too few pairs"),
    ],
)
def test_a_verdict_takes_three_pairs_and_a_range_without_one(values: tuple[float, ...], verdict: str) -> None:
    assert Ratio.of(values).verdict == verdict


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (0.97, "0.97x"),
        (0.9999, "0.99x"),
        (0.996, "0.99x"),
        (1.0, "1.00x"),
        (1.0049, "1.00x"),
        (1.249, "1.24x"),
    ],
)
def test_nothing_is_rounded_up_to_a_gain(ratio: float, shown: str) -> None:
    assert times(ratio) == shown


@given(st.floats(0.01, 100))
def test_a_shown_ratio_is_on_the_side_of_one_where_it_was_measured(ratio: float) -> None:
    shown = float(times(ratio)[:-1])
    assert ratio - 0.01 < shown <= ratio + 1e-10
    assert (shown < 1) == (ratio < 1 - 1e-10)
