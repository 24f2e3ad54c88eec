"""Whether p-values are what they say: uniform where nothing is wrong, small where something is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.goodness import chi_square_tail, g_test, g_test_of_all


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


def _tables(generator: np.random.Generator, laws: list[np.ndarray], drawn: list[np.ndarray], samples: int):
    """For each beginning what was drawn, by a law that may be another."""
    for law, true in zip(laws, drawn, strict=True):
        yield generator.multinomial(samples, true).astype(float), law


@pytest.mark.parametrize(("beginnings", "samples", "cells"), [(20, 33, 200), (20, 33, 3), (8, 100, 200)])
def test_p_values_of_many_right_samples_are_uniform(beginnings: int, samples: int, cells: int) -> None:
    """Far out they may only be too large, since an alarm must not be false."""
    generator = np.random.default_rng(7)
    laws = [_law(seed, cells) for seed in range(beginnings)]
    p_values = np.array([g_test_of_all(_tables(generator, laws, laws, samples)) for _ in range(800)])
    for level in (0.2, 0.01, 0.001):
        rate = (p_values < level).mean()
        assert rate <= 1.1 * level + 3 * np.sqrt(level / len(p_values))
    assert (p_values < 0.2).mean() > 0.15


def test_a_law_that_is_a_little_off_is_seen() -> None:
    """A total variation of 0.15 at each of 20 beginnings, by 50 samples each."""
    generator = np.random.default_rng(8)
    laws = [_law(seed, 50) for seed in range(20)]
    off = []
    for law in laws:
        likely = law > np.median(law)
        tilted = np.where(likely, law * (1 - 0.15 / law[likely].sum()), law)
        tilted[~likely] += 0.15 / (~likely).sum()
        off.append(tilted)
    assert g_test_of_all(_tables(generator, laws, off, 50)) < 1e-5


def test_too_few_samples_tell_nothing() -> None:
    even = np.array([0.5, 0.5])
    assert g_test_of_all([]) is None
    assert g_test_of_all([(np.array([9.0, 10.0]), even), (np.zeros(2), even)]) is None
    assert g_test_of_all([(np.array([400.0, 0.0]), np.array([1.0, 0.0]))]) is None
    assert g_test_of_all([(np.array([4.0, 5.0]), np.array([1.0, 0.0]))]) == 0.0
    assert g_test_of_all([(np.array([4.0, 5.0]), even), (np.array([400.0, 0.0]), even)]) < 1e-100


@given(st.lists(st.integers(1, 60), min_size=2, max_size=9), st.integers(1, 5))
def test_counts_as_expected_are_never_suspicious(counts: list[int], times: int) -> None:
    seen = np.array(counts, float)
    p_value = g_test_of_all([(seen, seen / seen.sum())] * times)
    assert p_value is None or p_value == pytest.approx(1.0)
