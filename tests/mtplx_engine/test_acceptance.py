"""The acceptance rule is exact: its distribution is enumerated, not sampled, so a bias of any size would show."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mtplx_engine import acceptance, sampling
from mtplx_engine.acceptance import accept, accept_greedy, race, speculative_output_marginal
from mtplx_engine.config import SamplerConfig
from tests.support.enumeration import joint_distribution, round_distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


EXACT = 1e-12
CONFIG = SamplerConfig(draft_core="stock", speculative_depth=2, verify_core="target")

# Zeros, masses near the smallest that a float can hold, and everything between.
_weights = st.one_of(st.just(0.0), st.sampled_from([1e-300, 1e-30, 1e-12]), st.floats(0.001, 1.0))


@st.composite
def _distributions(draw: st.DrawFn, vocabulary: int) -> Floats:
    weights = np.array(draw(st.lists(_weights, min_size=vocabulary, max_size=vocabulary)))
    if weights.sum() == 0:
        weights[draw(st.integers(0, vocabulary - 1))] = 1.0  # one-hot
    return weights / weights.sum()


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """A target's and a drafter's distribution over 2..8 tokens: any two, equal ones, or two that share no token."""
    vocabulary = draw(st.integers(2, 8))
    p, q = draw(_distributions(vocabulary)), draw(_distributions(vocabulary))
    relation = draw(st.sampled_from(["any", "any", "equal", "disjoint"]))
    if relation == "equal":
        return p, p
    if relation == "disjoint":
        q = np.where(p > 0, 0.0, q + 1)
        q = q / q.sum() if q.any() else p
    return p, q


@st.composite
def _tables(draw: st.DrawFn) -> tuple[dict[tuple[int, ...], Floats], dict[tuple[int, ...], Floats]]:
    """Distributions over 3 tokens that depend on the tokens before: up to 2 for the target, up to 1 for the drafter."""
    contexts = [c for length in range(3) for c in itertools.product(range(3), repeat=length)]
    p = {context: draw(_distributions(3)) for context in contexts}
    q = {context: p[context] if draw(st.booleans()) else draw(_distributions(3)) for context in contexts[:4]}
    return p, q


def _chain(
    distribution: Callable[[tuple[int, ...]], Floats], length: int, vocabulary: int
) -> dict[tuple[int, ...], float]:
    every = itertools.product(range(vocabulary), repeat=length)
    return {tokens: float(np.prod([distribution(tokens[:i])[t] for i, t in enumerate(tokens)])) for tokens in every}


def _difference(distribution: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> float:
    return max(abs(distribution.get(tokens, 0.0) - other.get(tokens, 0.0)) for tokens in distribution | other)


def _rows(generator: np.random.Generator, vocabulary: int) -> Callable[[tuple[int, ...]], Floats]:
    """Return a distribution that depends on everything that came before."""
    known: dict[tuple[int, ...], Floats] = {}
    return lambda context: known.setdefault(context, generator.dirichlet(np.full(vocabulary, 0.7)))


def _after(distribution: Callable[[tuple[int, ...]], Floats], context: tuple[int, ...]) -> Callable[..., Floats]:
    return lambda tokens: distribution((*context, *tokens))


# The enumerated distribution


@given(_pairs())
@settings(max_examples=250)
@example((np.array([1.0, 0.0]), np.array([0.0, 1.0])))
@example((np.array([0.5, 0.5]), np.array([0.5, 0.5])))
@example((np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])))
@example((np.array([5e-324, 1.0]), np.array([1.0, 5e-324])))
@example((np.array([0.1, 0.2, 0.7]), np.nextafter(np.array([0.1, 0.2, 0.7]), 0)))
def test_marginal_is_the_targets_distribution(pair: tuple[Floats, Floats]) -> None:
    p, q = pair
    distribution = speculative_output_marginal(p, q, CONFIG)
    assert distribution.dtype == np.float64
    assert np.abs(distribution - p).max() <= EXACT


@given(_pairs())
@settings(max_examples=40)
@example((np.array([1.0, 0.0]), np.array([0.0, 1.0])))
@example((np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.5, 0.0])))
@example((np.array([1e-30, 1 - 1e-30]), np.array([1 - 1e-12, 1e-12])))
def test_first_token_of_a_round_follows_the_target(pair: tuple[Floats, Floats]) -> None:
    p, q = pair
    distribution = np.zeros(p.size)
    for emitted, probability in round_distribution(lambda _: p, lambda _: q, p.size, depth=1).items():
        distribution[emitted[0]] += probability
    assert np.abs(distribution - p).max() <= EXACT
    assert np.abs(distribution - speculative_output_marginal(p, q, CONFIG)).max() <= EXACT


@given(_tables())
@settings(max_examples=40)
def test_whole_rounds_follow_the_target_jointly(tables: tuple[dict, dict]) -> None:
    """Vocabulary 3, depth 2, every branch. A short round is followed by plain decoding up to the third token."""
    p, q = tables

    def rounds(context: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        if context:
            return {(token,): float(mass) for token, mass in enumerate(p[context])}
        return round_distribution(p.__getitem__, q.__getitem__, 3, depth=2)

    assert _difference(joint_distribution(rounds, 3), _chain(p.__getitem__, 3, 3)) <= EXACT


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_rounds_after_rounds_follow_the_target_jointly(depth: int) -> None:
    generator = np.random.default_rng(depth)
    p, q = _rows(generator, 3), _rows(generator, 3)
    distribution = joint_distribution(
        lambda context: round_distribution(_after(p, context), _after(q, context), 3, depth), length=3
    )
    assert _difference(distribution, _chain(p, 3, 3)) <= EXACT


def test_in_the_dtype_of_decoding_the_distribution_holds_to_its_rounding() -> None:
    generator = np.random.default_rng(9)
    p, q = _rows(generator, 3), _rows(generator, 3)
    distribution = joint_distribution(
        lambda context: round_distribution(_after(p, context), _after(q, context), 3, 2, dtype=mx.float32),
        length=2,
    )
    assert _difference(distribution, _chain(p, 2, 3)) <= 1e-6


def test_accepted_drafts_lead_the_round() -> None:
    """Depth 2 over 2 tokens, by hand: p = (.5, .5) everywhere, q = (.8, .2): kept with .625 and 1."""
    distribution = round_distribution(lambda _: np.array([0.5, 0.5]), lambda _: np.array([0.8, 0.2]), 2, depth=2)
    two_kept = {(a, b): (0.5, 0.2)[a] * (0.5, 0.2)[b] for a in (0, 1) for b in (0, 1)}
    expected: dict[tuple[int, ...], float] = {(1,): 0.8 * 0.375, (0, 1): 0.5 * 0.3, (1, 1): 0.2 * 0.3}
    expected |= {(*kept, bonus): mass / 2 for kept, mass in two_kept.items() for bonus in (0, 1)}
    assert _difference(distribution, expected) <= EXACT


@pytest.mark.parametrize(
    ("name", "wrong", "least"),
    [
        ("acceptance_probability", lambda p, q: mx.minimum(1.002 * p / mx.maximum(q, 1e-300), 1), 1e-4),
        ("residual", lambda p, q: mx.maximum(p - 0.999 * q, 0), 1e-5),
        ("race", lambda w, e: mx.argmin(e / (w + 1e-4), axis=-1).astype(mx.int32), 1e-5),
    ],
)
def test_the_enumeration_sees_biases_too_small_to_sample(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., mx.array], least: float
) -> None:
    monkeypatch.setattr(acceptance, name, wrong)
    p, q = np.array([0.1, 0.4, 0.5]), np.array([0.7, 0.2, 0.1])
    distribution = round_distribution(lambda _: p, lambda _: q, 3, depth=1)
    first = {(token,): sum(m for emitted, m in distribution.items() if emitted[0] == token) for token in range(3)}
    assert _difference(first, {(token,): float(mass) for token, mass in enumerate(p)}) > least


# The race


def test_race_prefers_each_of_two_at_the_ratio_of_their_weights() -> None:
    """With the others never arriving, i is first exactly while e_i / e_j < w_i / w_j, which has probability
    w_i / (w_i + w_j) for independent Exp(1) times."""
    weights = np.array([0.5, 1e-12, 0.25, 0.2])
    with mx.stream(mx.cpu):
        for i, j in itertools.permutations(range(4), 2):
            for slack, winner in ((1 - 1e-14, i), (1 + 1e-14, j)):
                times = np.full(4, np.inf)
                times[i], times[j] = slack * weights[i] / weights[j], 1.0
                assert race(mx.array(weights, mx.float64), mx.array(times, mx.float64)).item() == winner


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
@settings(max_examples=50)
def test_race_winner_beats_every_other_alone(seed: int, vocabulary: int) -> None:
    """Together with the ratio of pairs this fixes the distribution: the first of all is the first of each pair."""
    generator = np.random.default_rng(seed)
    weights = generator.random(vocabulary) * (generator.random(vocabulary) < 0.7)
    weights[generator.integers(vocabulary)] = 1.0
    times = generator.exponential(size=vocabulary)
    with mx.stream(mx.cpu):
        w, e = mx.array(weights, mx.float64), mx.array(times, mx.float64)
        first = race(w, e).item()
        for other in range(vocabulary):
            alone = np.where(np.isin(np.arange(vocabulary), [first, other]), times, np.inf)
            assert race(w, mx.array(alone, mx.float64)).item() == first
        assert race(1e-6 * w, e).item() == first


@pytest.mark.parametrize("dtype", [mx.float32, mx.float64])
def test_race_never_gives_a_token_without_weight(dtype: mx.Dtype) -> None:
    with mx.stream(mx.cpu):
        weights = mx.array([[0, 1e-30, 0], [0, 0, 1], [1, 0, 0]], dtype)
        times = mx.array([[0, 50, 0], [0, 1e-30, 50], [50, 0, 1e-30]], dtype)
        assert race(weights, times).tolist() == [1, 2, 0]


# `accept` itself


@given(_pairs(), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_without_drafts_the_bonus_token_is_a_plain_draw(pair: tuple[Floats, Floats], seed: int) -> None:
    p, _ = pair
    times = np.random.default_rng(seed).exponential(size=p.size)
    with mx.stream(mx.cpu):
        row, exponentials = mx.array(p, mx.float64), mx.array(times, mx.float64)
        none = mx.zeros((0, p.size), mx.float64)
        verdict = accept(row[None], none, mx.array([], mx.int32), mx.array([], mx.float64), exponentials)
        assert verdict.accepted.item() == 0
        assert verdict.token.item() == race(row, exponentials).item()


def test_a_draft_that_the_drafter_cannot_have_drawn_is_refused() -> None:
    p, q = mx.array([[0.5, 0.5], [1.0, 0.0]]), mx.array([[1.0, 0.0]])
    verdict = accept(p, q, mx.array([1], mx.int32), mx.array([0.0]), mx.array([1.0, 1.0]))
    assert (verdict.accepted.item(), verdict.token.item()) == (0, 1)


def test_a_refused_draft_hides_the_drafts_behind_it() -> None:
    p = mx.array([[0.1, 0.9], [1.0, 0.0], [0.0, 1.0]])
    q = mx.array([[0.9, 0.1], [1.0, 0.0]])
    verdict = accept(p, q, mx.array([0, 0], mx.int32), mx.array([0.5, 0.0]), mx.array([1.0, 1.0]))
    assert (verdict.accepted.item(), verdict.token.item()) == (0, 1)


@pytest.mark.parametrize(
    ("best", "drafts", "accepted", "token"),
    [
        ([5], [], 0, 5),
        ([5, 6], [5], 1, 6),
        ([5, 6], [4], 0, 5),
        ([5, 6, 7, 8], [5, 6, 7], 3, 8),
        ([5, 6, 7, 8], [0, 6, 7], 0, 5),
        ([5, 6, 7, 8], [5, 0, 7], 1, 6),
        ([5, 6, 7, 8], [5, 6, 0], 2, 7),
    ],
)
def test_greedy_keeps_drafts_up_to_the_first_mismatch(
    best: list[int], drafts: list[int], accepted: int, token: int
) -> None:
    verdict = accept_greedy(mx.array(best, mx.int32), mx.array(drafts, mx.int32))
    assert (verdict.accepted.item(), verdict.token.item()) == (accepted, token)


# `speculative_output_marginal` as others call it


def test_marginal_takes_lists_arrays_and_rows() -> None:
    p, q = [0.2, 0.3, 0.5], [0.6, 0.4, 0.0]
    assert sampling.speculative_output_marginal is speculative_output_marginal
    assert np.abs(speculative_output_marginal(p, q, CONFIG) - p).max() <= EXACT
    rows = speculative_output_marginal(np.array([p, q]), np.array([q, p]), CONFIG)
    assert rows.shape == (2, 3)
    assert np.abs(rows - [p, q]).max() <= EXACT
    blocks = speculative_output_marginal(np.array([[p, q]]), np.array([[q, q]]), CONFIG)
    assert np.abs(blocks - [[p, q]]).max() <= EXACT


def test_marginal_of_a_greedy_target_is_its_best_token() -> None:
    greedy = SamplerConfig(temperature=0, draft_core="stock", speculative_depth=2, verify_core="target")
    distribution = speculative_output_marginal([[0.2, 0.3, 0.5], [0.9, 0.1, 0]], [[0.6, 0.4, 0], [0, 0, 1]], greedy)
    assert distribution.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "config", [SamplerConfig(draft_core="off"), SamplerConfig(speculative_depth=0)], ids=["off", "depth 0"]
)
def test_marginal_without_drafting_is_the_target_itself(config: SamplerConfig) -> None:
    assert speculative_output_marginal([0.25, 0.75], [1.0, 0.0], config).tolist() == [0.25, 0.75]


@pytest.mark.parametrize("depth", [1, 8, "auto"])
@pytest.mark.parametrize("verify", ["target", "strict"])
@pytest.mark.parametrize("core", ["stock", "mtp", "draft_model", "prompt_lookup"])
def test_marginal_is_the_same_for_every_drafter(depth: int, verify: str, core: str) -> None:
    config = SamplerConfig(draft_core=core, speculative_depth=depth, verify_core=verify)
    assert np.abs(speculative_output_marginal([0.25, 0.75], [0.9, 0.1], config) - [0.25, 0.75]).max() <= EXACT


@pytest.mark.parametrize(
    ("p", "q", "complaint"),
    [
        ([0.5, 0.5], [1.0], "shape"),
        ([[0.5, 0.5]], [0.5, 0.5], "shape"),
        (1.0, 1.0, "shape"),
        ([], [], "shape"),
        ([1.5, -0.5], [0.5, 0.5], "negative"),
        ([0.5, 0.5], [1.5, -0.5], "negative"),
        ([0.5, float("nan")], [0.5, 0.5], "finite"),
        ([0.5, 0.5], [float("inf"), 0.5], "finite"),
        ([0.5, 0.5], [0.0, 0.0], "sum to 0"),
        ([2.0, 2.0], [0.5, 0.5], "sum to 4"),
    ],
)
def test_marginal_refuses_invalid_distributions(p: object, q: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        speculative_output_marginal(p, q, CONFIG)
