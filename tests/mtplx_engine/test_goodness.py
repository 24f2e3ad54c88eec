"""Whether p-values are what they say: uniform where nothing is wrong, small where something is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.goodness import chi_square_tail, g_test, same_law


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


def _pairs(generator: np.random.Generator, ones: list[np.ndarray], others: list[np.ndarray], samples: int):
    """For each beginning a sample of its law each way."""
    for one, other in zip(ones, others, strict=True):
        yield tuple(dict(enumerate(map(int, generator.multinomial(samples, law)))) for law in (one, other))


@pytest.mark.parametrize(
    ("beginnings", "samples", "cells"), [(20, 25, 200), (20, 25, 3), (8, 100, 200), (40, 10, 30)]
)
def test_p_values_of_one_law_are_uniform(beginnings: int, samples: int, cells: int) -> None:
    """Far out they may only be too large, since an alarm must not be false."""
    generator = np.random.default_rng(7)
    laws = [_law(seed, cells) for seed in range(beginnings)]
    found = [same_law(_pairs(generator, laws, laws, samples)) for _ in range(800)]
    p_values = np.array([p for p in found if p is not None])
    assert len(p_values) > 700
    for level in (0.2, 0.01, 0.001):
        rate = (p_values < level).mean()
        assert rate <= 1.15 * level + 3 * np.sqrt(level / len(p_values))
    assert (p_values < 0.2).mean() > 0.1


def test_a_law_that_is_a_little_off_is_seen() -> None:
    """A total variation of 0.2 at each of 20 beginnings, by 50 samples each way."""
    generator = np.random.default_rng(8)
    laws = [_law(seed, 50) for seed in range(20)]
    off = []
    for law in laws:
        likely = law > np.median(law)
        tilted = np.where(likely, law * (1 - 0.2 / law[likely].sum()), law)
        tilted[~likely] += 0.2 / (~likely).sum()
        off.append(tilted)
    assert same_law(_pairs(generator, laws, off, 50)) < 1e-5


def test_too_few_samples_tell_nothing() -> None:
    assert same_law([]) is None
    assert same_law([({1: 4}, {2: 4}), ({}, {})]) is None
    assert same_law([({1: 400}, {1: 400})]) is None
    assert same_law([({1: 400}, {2: 400})]) < 1e-100


@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 60), min_size=1), min_size=1, max_size=5))
def test_the_same_counts_are_never_suspicious(samples: list[Counter[int]]) -> None:
    p_value = same_law((sample, sample) for sample in samples)
    assert p_value is None or p_value == 1.0


_DRAWN = st.lists(st.integers(0, 5), min_size=60, max_size=60)


@given(_DRAWN, _DRAWN)
def test_which_of_both_comes_first_is_the_same(one: list[int], other: list[int]) -> None:
    pair = Counter(one), Counter(other)
    assert same_law([pair]) == pytest.approx(same_law([pair[::-1]]))
