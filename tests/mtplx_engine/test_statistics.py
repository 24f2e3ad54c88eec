"""Answers of tiny models follow the target's distribution, as enumerated from plain forwards.

Every answer has a seed of its own and is at least two tokens longer than the deepest draft, so that the bonus token
and the cycle after it are inside. `tests.support.sequential_test` tests each position and all of them jointly, in
stages: a correct engine fails a case with probability at most 1e-6 (Bonferroni over stages and tests), and any of the
cases here with less than 4e-5. Seeds are fixed, so the same code always gives the same answer. `test_planted_faults.py`
shows what these tests can detect: it runs cases like these on broken engines.
"""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.acceptance import accept, race
from mtplx_engine.bench.prefix import g_test
from mtplx_engine.config import SamplerConfig
from mtplx_engine.sampling import draw_exponentials
from tests.support import toy_answers
from tests.support.loop_case import Case, run

STAGES, LEAST = (400, 1000, 2000, 4000), 1000
HYBRID_STAGES, HYBRID_LEAST = (300, 600), 300  # gated-delta layers are slow on a CPU
LONG_HYBRID_STAGES, LONG_HYBRID_LEAST = (500, 1000, 2000), 2000
LONG_STAGES, LONG_LEAST = (1000, 4000, 8000, 16000), 4000

EVERYTHING = SamplerConfig(
    temperature=0.7,
    top_p=0.95,
    min_p=0.02,
    top_k=3,
    repetition_penalty=1.3,
    frequency_penalty=0.4,
    presence_penalty=0.3,
    logit_bias=((3, 0.8),),
    speculative_depth=3,
)
REPEATING = (0, 1, 2, 3) * 3  # so that the newest 8 tokens came before
BITS = tuple(map(int, f"{0xB2D5_90E3_71C8:048b}"))  # where any 8 tokens often came before
CASES = {  # with the hybrid and the trained toy below these are the eight of every run
    "head, temperature 0.7, depth 2": Case(SamplerConfig(temperature=0.7, speculative_depth=2)),
    "top_p, depth 1": Case(
        SamplerConfig(temperature=0.7, top_p=0.9, speculative_depth=1), "distorted", vocabulary=5, length=4
    ),
    "all filters and penalties, depth 3": Case(EVERYTHING, "distorted"),
    "draft vocabulary, mixed depths": Case(
        SamplerConfig(temperature=1.0, speculative_depth="auto"), "short", width_multiple=4
    ),
    "prompt lookup, depth 2": Case(
        SamplerConfig(temperature=1.0, speculative_depth=2), "lookup", length=4, prompt=REPEATING
    ),
    "draft model, depth 2": Case(SamplerConfig(temperature=0.7, speculative_depth=2), "model", length=4),
}
HYBRID = Case(SamplerConfig(temperature=1.0, speculative_depth=2), model="qwen3_5", vocabulary=3, length=4)
LONG_CASES = {
    f"{drafter}, temperature {temperature}, depth {depth}": Case(
        SamplerConfig(temperature=temperature, speculative_depth=depth), drafter
    )
    for drafter in ("head", "distorted")
    for temperature in (1.0, 0.7)
    for depth in (1, 2, 3)
} | {
    "top_p": Case(SamplerConfig(temperature=0.7, top_p=0.8, speculative_depth=2)),
    "top_k": Case(SamplerConfig(temperature=1.0, top_k=2, speculative_depth=3), "distorted"),
    "min_p": Case(SamplerConfig(temperature=0.7, min_p=0.2, speculative_depth=2), "distorted"),
    "repetition penalty": Case(SamplerConfig(temperature=0.7, repetition_penalty=1.5, speculative_depth=2)),
    "presence penalty": Case(SamplerConfig(temperature=1.0, presence_penalty=1.0, speculative_depth=2)),
    "frequency penalty": Case(SamplerConfig(temperature=1.0, frequency_penalty=0.8, speculative_depth=3)),
    "logit_bias": Case(SamplerConfig(temperature=1.0, logit_bias=((0, 2), (2, -1)), speculative_depth=2)),
    "draft vocabulary, depth 1": Case(SamplerConfig(temperature=1.0, speculative_depth=1), "short"),
    "draft vocabulary, depth 3": Case(SamplerConfig(temperature=0.7, speculative_depth=3), "short"),
    "mixed depths": Case(SamplerConfig(temperature=1.0, speculative_depth="auto"), "distorted"),
    "mixed depths, penalties": Case(SamplerConfig(temperature=0.7, repetition_penalty=1.3, speculative_depth="auto")),
    "filled up verify steps": Case(SamplerConfig(temperature=1.0, speculative_depth=2), width_multiple=4),
    "strict": Case(SamplerConfig(temperature=1.0, speculative_depth=2, verify_core="strict")),
    "vocabulary 8": Case(SamplerConfig(temperature=1.0, speculative_depth=2), vocabulary=8, length=4),
    "prompt lookup, mixed depths, penalties": Case(
        SamplerConfig(temperature=1.0, frequency_penalty=0.5, speculative_depth="auto"),
        "lookup",
        vocabulary=2,
        length=8,
        prompt=BITS,
    ),
    "head and lookup": Case(
        SamplerConfig(temperature=0.7, speculative_depth=2),
        "head and lookup",
        vocabulary=2,
        length=8,
        prompt=BITS,
    ),
    "draft model, all filters and penalties": Case(EVERYTHING, "model"),
    "draft model, mixed depths": Case(SamplerConfig(temperature=1.0, speculative_depth="auto"), "model"),
    "two layers": Case(SamplerConfig(temperature=1.0, speculative_depth=2), layers=2),
}
LONG_HYBRID_CASES = {
    "Qwen3.5, depth 2": HYBRID,
    "Qwen3.5, all filters and penalties, depth 3": Case(EVERYTHING, "distorted", model="qwen3_5"),
    "Qwen3-Next, all filters and penalties, depth 3": Case(EVERYTHING, "distorted", model="qwen3_next"),
    "Qwen3-Next, head and lookup": Case(
        SamplerConfig(temperature=0.7, speculative_depth=2),
        "head and lookup",
        vocabulary=2,
        length=8,
        prompt=BITS,
        model="qwen3_next",
    ),
    "Qwen3-Next, draft model, depth 2": Case(
        SamplerConfig(temperature=0.7, speculative_depth=2), "model", length=4, model="qwen3_next"
    ),
    "Qwen3-Next, mixed depths": Case(
        SamplerConfig(temperature=0.7, speculative_depth="auto"), model="qwen3_next", vocabulary=3
    ),
    "Qwen3.5, head and lookup": Case(
        SamplerConfig(temperature=0.7, speculative_depth=2),
        "head and lookup",
        vocabulary=2,
        length=8,
        prompt=BITS,
        model="qwen3_5",
    ),
    "Qwen3.5, draft model, depth 2": Case(
        SamplerConfig(temperature=0.7, speculative_depth=2), "model", length=4, model="qwen3_5"
    ),
}


def _check(case: Case, stages: tuple[int, ...], least: int, first_seed: int = 0) -> None:
    assert case.length >= case.depth + 2
    result = run(case, stages, least, first_seed)
    print(f"{result.outcome}; acceptance rate {result.acceptance_rate:.0%}")
    assert not result.outcome.wrong, result.outcome
    every_count = {(case.depth, accepted) for accepted in range(case.depth + 1)}
    assert every_count <= set(result.cycles), "some accept count never came"
    assert 0.15 < result.acceptance_rate < 0.95


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_answers_follow_the_targets_distribution(case: Case) -> None:
    _check(case, STAGES, LEAST)


def test_a_hybrids_answers_follow_its_distribution() -> None:
    _check(HYBRID, HYBRID_STAGES, HYBRID_LEAST)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG_HYBRID_CASES.values(), ids=LONG_HYBRID_CASES)
def test_many_answers_of_hybrids_follow_their_distribution(case: Case) -> None:
    _check(case, LONG_HYBRID_STAGES, LONG_HYBRID_LEAST, first_seed=1_000_000)


def _check_toy(text: str, temperature: float, stages: tuple[int, ...], least: int) -> None:
    config = SamplerConfig(temperature=temperature, speculative_depth=2)
    result, share = toy_answers.run(text, config, stages, least)
    print(f"{result.outcome}; likely answers {share:.0%}; acceptance rate {result.acceptance_rate:.0%}")
    assert not result.outcome.wrong, result.outcome
    assert share > 0.3
    assert {(2, 0), (2, 1), (2, 2)} <= set(result.cycles)


def test_the_trained_toys_answers_follow_its_distribution() -> None:
    _check_toy("The name of the file", 0.4, HYBRID_STAGES, HYBRID_LEAST)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "temperature"),
    [("Return a list of", 0.5), ("The name of the file", 0.5), ("If the argument is", 0.3)],
)
def test_many_answers_of_the_trained_toy_follow_its_distribution(text: str, temperature: float) -> None:
    _check_toy(text, temperature, LONG_HYBRID_STAGES, LONG_HYBRID_LEAST)


@pytest.mark.long
@pytest.mark.parametrize("case", (CASES | LONG_CASES).values(), ids=CASES | LONG_CASES)
def test_many_answers_follow_the_targets_distribution(case: Case) -> None:
    _check(case, LONG_STAGES, LONG_LEAST, first_seed=1_000_000)


# Without a model the same random numbers are cheap, and a hundred times as many samples see smaller faults.


def test_a_race_on_production_random_numbers_follows_its_weights() -> None:
    weights = mx.array([0.5, 0.0, 0.3, 0.199, 0.001])
    winners = race(mx.broadcast_to(weights, (1_000_000, 5)), draw_exponentials((1_000_000, 5), mx.random.key(5)))
    counts = np.bincount(np.array(winners), minlength=5)
    assert g_test(counts.astype(np.float64), np.array([0.5, 0.0, 0.3, 0.199, 0.001])) > 1e-6


def test_exponentials_are_exponential() -> None:
    """Their distribution function is uniform, in 256 equal cells."""
    draws = np.array(draw_exponentials((1_000_000,), mx.random.key(6)), np.float64)
    assert draws.min() > 0
    counts = np.bincount((-np.expm1(-draws) * 256).astype(int), minlength=256)
    assert g_test(counts.astype(np.float64), np.full(256, 1 / 256)) > 1e-6


def test_rounds_in_float32_follow_the_target() -> None:
    """400,000 rounds of depth 2 over 4 tokens: the first three tokens, the rest of a short round drawn plainly."""
    rounds, generator = 400_000, np.random.default_rng(4)
    p0, p1, p2, q0, q1 = (generator.dirichlet(np.ones(4), size=(4,) * n).astype(np.float32) for n in (0, 1, 2, 0, 1))
    keys = mx.random.split(mx.random.key(7), 6)

    def drawn(rows: np.ndarray, key: mx.array) -> np.ndarray:
        rows = np.broadcast_to(rows, (rounds, 4))
        return np.array(race(mx.array(rows), draw_exponentials(rows.shape, key)))

    first = drawn(q0, keys[0])
    second = drawn(q1[first], keys[1])
    p = np.stack([np.broadcast_to(p0, (rounds, 4)), p1[first], p2[first, second]], axis=1)
    q = np.stack([np.broadcast_to(q0, (rounds, 4)), q1[first]], axis=1)
    verdict = mx.vmap(accept)(
        mx.array(p),
        mx.array(q),
        mx.array(np.stack([first, second], axis=1)),
        mx.random.uniform(shape=(rounds, 2), key=keys[2]),
        draw_exponentials((rounds, 4), keys[3]),
    )
    accepted, token = np.array(verdict.accepted), np.array(verdict.token)
    a = np.where(accepted > 0, first, token)
    b = np.where(accepted > 1, second, np.where(accepted == 1, token, drawn(p1[a], keys[4])))
    c = np.where(accepted == 2, token, drawn(p2[a, b], keys[5]))
    counts = np.bincount(16 * a + 4 * b + c, minlength=64)
    distribution = p0[:, None, None].astype(np.float64) * p1[:, :, None] * p2
    assert g_test(counts.astype(np.float64), distribution.ravel()) > 1e-6
