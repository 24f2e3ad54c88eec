"""Whether p-values are what they say: uniform where nothing is wrong, small where something is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.goodness import LEAST_VALUES, chi_square_tail, g_test, uniform_test


def _law(seed: int, cells: int) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.5, size=cells)
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("statistic", "freedom", "tail"),
    [  # from published tables
        (3.841459, 1, 0.05),
        (10.827566, 1, 0.001),
        (5.991465, 2, 0.05),
        (11.070498, 5, 0.05),
        (124.342113, 100, 0.05),
        (0.0, 3, 1.0),
    ],
)
def test_chi_square_tail(statistic: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(statistic, freedom) == pytest.approx(tail, rel=1e-5)


def test_chi_square_tail_is_exact_far_out() -> None:
    assert chi_square_tail(60.0, 2) == pytest.approx(np.exp(-30), rel=1e-12)
    assert 0 < chi_square_tail(600.0, 255) < 1e-20


@pytest.mark.parametrize(("cells", "samples"), [(4, 500), (256, 500), (256, 3000), (1024, 1500)])
def test_p_values_of_right_samples_are_uniform(cells: int, samples: int) -> None:
    """The rate of p-values below a level is the level, to three standard deviations of 4000 trials."""
    law = _law(cells, cells)
    counts = np.random.default_rng(1).multinomial(samples, law, size=4000)
    p_values = np.array([g_test(row.astype(float), law) for row in counts])
    for level in (0.2, 0.01, 0.001):
        rate = (p_values < level).mean()
        assert rate <= 1.1 * level + 3 * np.sqrt(level / 4000)
    assert (p_values < 0.2).mean() >= 0.15


def test_something_impossible_is_never_fine() -> None:
    assert g_test(np.array([99.0, 1.0]), np.array([1.0, 0.0])) == 0.0


def test_a_certain_law_has_nothing_to_test() -> None:
    assert g_test(np.array([100.0, 0.0]), np.array([1.0, 0.0])) == 1.0


def test_numbers_that_are_uniform_are_rarely_odd() -> None:
    """An alarm far out must not be false: the rate of p-values below a level is at most that."""
    generator = np.random.default_rng(7)
    p_values = np.array([uniform_test(generator.random(150)) for _ in range(4000)])
    for level in (0.2, 0.01, 0.001):
        assert (p_values < level).mean() <= level + 3 * np.sqrt(level / len(p_values))
    assert (p_values < 0.2).mean() > 0.1


def test_numbers_that_are_not_uniform_are_seen() -> None:
    generator = np.random.default_rng(9)
    even = generator.random(4000)
    assert uniform_test(even) > 0.01
    assert uniform_test(np.where(even > 0.94, even / 2, even)) < 1e-6
    assert uniform_test(np.where(np.arange(4000) % 5 == 0, 0.5, even)) < 1e-100  # of the same mean
    assert uniform_test(np.full(LEAST_VALUES, 0.5)) < 1e-6


def test_too_few_numbers_tell_nothing() -> None:
    assert uniform_test(np.zeros(LEAST_VALUES - 1)) is None


@given(st.lists(st.integers(5, 60), min_size=2, max_size=9))
def test_counts_as_expected_are_never_suspicious(counts: list[int]) -> None:
    seen = np.array(counts, float)
    assert g_test(seen, seen / seen.sum()) == pytest.approx(1.0)
