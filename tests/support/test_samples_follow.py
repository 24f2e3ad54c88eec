from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.support.sequential_test import sequential_test

STAGES = (500, 1500, 3000)


def _distribution(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.5, size=shape)
    return weights / weights.sum()


def _samples(distribution: np.ndarray, seed: int):
    generator = np.random.default_rng(seed)
    while True:
        cells = generator.choice(distribution.size, size=1000, p=distribution.ravel())
        yield from zip(*np.unravel_index(cells, distribution.shape), strict=True)


def test_something_impossible_is_never_fine() -> None:
    distribution = np.zeros((2, 2))
    distribution[0, :] = 0.5
    outcome = sequential_test(itertools.repeat((1, 0)), distribution, stages=(1, 2), least=1)
    assert outcome.wrong
    assert outcome.samples == 1


def test_right_samplers_are_fine_and_mostly_at_the_first_chance() -> None:
    distribution = _distribution(3, (4,) * 4)
    outcomes = [
        sequential_test(_samples(distribution, seed), distribution, stages=STAGES, least=1500) for seed in range(40)
    ]
    assert not any(outcome.wrong for outcome in outcomes)
    assert sum(outcome.samples == 1500 for outcome in outcomes) > 20


def test_what_only_the_joint_shows_is_wrong() -> None:
    """Each position alone is right, but the second repeats the first."""
    distribution = np.full((4, 4), 1 / 16)
    pairs = ((token, token) for token in np.random.default_rng(5).integers(0, 4, 5000))
    outcome = sequential_test(pairs, distribution, stages=STAGES, least=1500)
    assert outcome.wrong
    assert (outcome.samples, outcome.where) == (500, "joint")


def test_a_shift_of_the_documented_size_is_always_found() -> None:
    """The documented power: a total variation of 0.15 in one position of four is found within 3000 samples."""
    distribution = _distribution(3, (4,) * 4)
    tilted = distribution.copy()
    tilted[0] *= 1 + 0.15 / distribution[0].sum()
    tilted[1:] *= 1 - 0.15 / distribution[1:].sum()
    assert np.abs(tilted - distribution).sum() / 2 == pytest.approx(0.15)
    assert all(
        sequential_test(_samples(tilted, seed), distribution, stages=STAGES, least=1500).wrong for seed in range(20)
    )
