"""Tokens against the distributions of their rows: uniform where nothing is wrong, found where a rule is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.bench.prefix import LEAST_VALUES, Cycle, Draws, chi_square_tail, g_test, uniform_test
from mtplx_engine.measure.measurement import visible_share
from mtplx_engine.measure.results import CHANCE


def _laws(generator: np.random.Generator, rows: int, cells: int = 30) -> np.ndarray:
    return generator.dirichlet(np.full(cells, 0.3), rows)


def _cycles(draws: Draws, count: int, seed: int, kept=lambda p, q: p / q) -> None:
    """Draw cycles of two drafts by the rule of speculative sampling, a draft kept with this probability."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        p, q = _laws(generator, 3), _laws(generator, 2)
        tokens = []
        for place in range(2):
            draft = generator.choice(30, p=q[place])
            if generator.random() < kept(p[place, draft], q[place, draft]):
                tokens.append(draft)
                continue
            rest = np.maximum(p[place] - q[place], 0)
            tokens.append(generator.choice(30, p=rest / rest.sum()))
            break
        else:
            tokens.append(generator.choice(30, p=p[2]))
        draws.add(Cycle(tokens, p[: len(tokens)], q))


def test_tokens_are_counted_by_place_and_the_bonus_last() -> None:
    draws = Draws(2, 1)
    distribution = np.full((3, 4), 0.25)
    draws.add(Cycle([0, 1, 2], distribution, distribution[:2]))
    draws.add(Cycle([0, 1], distribution[:2], distribution[:1]))
    draws.add(Cycle([3], distribution[:1], distribution[:2]))
    draws.add(Cycle([3], distribution[:1], distribution[:0]))
    assert draws.counts == (3, 1, 3)
    assert draws.p_value() is None


def test_right_tokens_are_rarely_odd() -> None:
    """The rate of p-values below 1e-2 is at most that, to three standard deviations."""
    p_values = []
    for seed in range(60):
        draws = Draws(2, seed)
        _cycles(draws, 110, seed)
        p_values.append(draws.p_value())
    assert min(p_values) > 1e-4
    assert sum(p_value < 1e-2 for p_value in p_values) <= 3
    assert sum(p_value < 0.5 for p_value in p_values) > 3


@pytest.mark.parametrize("kept", [lambda p, q: 1.3 * p / q, lambda p, q: 0.6 * p / q, lambda *_: 1.0, lambda *_: 0.5])
def test_another_acceptance_is_found(kept) -> None:
    draws = Draws(2, 3)
    _cycles(draws, 7000, 4, kept)
    assert draws.p_value() < CHANCE


def test_what_cannot_be_drawn_is_a_fault() -> None:
    draws = Draws(1, 1)
    draws.add(Cycle([0], np.array([[0.0, 1.0]]), np.array([[0.5, 0.5]])))
    assert draws.p_value() == 0.0


def test_what_is_said_to_be_visible_is_seen_nine_times_in_ten() -> None:
    """Of 1000 tokens of even rows so many of the upper half come out in the lower half."""
    generator, distribution, found = np.random.default_rng(5), np.arange(1, 41.0)[None] / 820, 0
    share = visible_share(1000)
    halves = np.cumsum(distribution[0]) < 0.5
    for trial in range(20):
        draws = Draws(1, trial)
        wrong = distribution[0] * halves / distribution[0][halves].sum()
        right = np.where(
            halves,
            distribution[0],
            distribution[0] - share * distribution[0] * ~halves / distribution[0][~halves].sum(),
        )
        off = right + share * wrong
        for token in generator.choice(40, 1000, p=off / off.sum()):
            draws.add(Cycle([token], distribution, distribution[:0]))
        found += draws.p_value() < CHANCE
    assert found >= 15


def _distribution(seed: int, cells: int) -> np.ndarray:
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
    distribution = _distribution(cells, cells)
    counts = np.random.default_rng(1).multinomial(samples, distribution, size=4000)
    p_values = np.array([g_test(row.astype(float), distribution) for row in counts])
    for level in (0.2, 0.01, 0.001):
        rate = (p_values < level).mean()
        assert rate <= 1.1 * level + 3 * np.sqrt(level / 4000)
    assert (p_values < 0.2).mean() >= 0.15


def test_something_impossible_is_never_fine() -> None:
    assert g_test(np.array([99.0, 1.0]), np.array([1.0, 0.0])) == 0.0


def test_a_certain_distribution_has_nothing_to_test() -> None:
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
