"""Tokens against the laws of their rows: uniform where nothing is wrong, found where a rule is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mtplx_engine.bench.draws import Cycle, Draws
from mtplx_engine.exactness import CHANCE
from mtplx_engine.measurement import visible_share


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
    law = np.full((3, 4), 0.25)
    draws.add(Cycle([0, 1, 2], law, law[:2]))
    draws.add(Cycle([0, 1], law[:2], law[:1]))
    draws.add(Cycle([3], law[:1], law[:2]))
    draws.add(Cycle([3], law[:1], law[:0]))
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


@pytest.mark.parametrize(
    "kept", [lambda p, q: 1.3 * p / q, lambda p, q: 0.6 * p / q, lambda *_: 1.0, lambda *_: 0.5]
)
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
    generator, law, found = np.random.default_rng(5), np.arange(1, 41.0)[None] / 820, 0
    share = visible_share(1000)
    halves = np.cumsum(law[0]) < 0.5
    for trial in range(20):
        draws = Draws(1, trial)
        wrong = law[0] * halves / law[0][halves].sum()
        right = np.where(halves, law[0], law[0] - share * law[0] * ~halves / law[0][~halves].sum())
        off = right + share * wrong
        for token in generator.choice(40, 1000, p=off / off.sum()):
            draws.add(Cycle([token], law, law[:0]))
        found += draws.p_value() < CHANCE
    assert found >= 15
