"""The distribution of a sampler configuration, against `tests.support.exact_distribution` in float64."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

from mtplx_engine.config import SamplerConfig
from mtplx_engine.sampling import History, Shaper, draw_exponentials, finite
from tests.support.exact_distribution import adjusted_logits, filtered_distribution

if TYPE_CHECKING:
    from collections.abc import Sequence


V = 7
HAIR = 1e-5
# Steps of a quarter and powers of two: exact in float32, so that ties are ties, and there are many.
QUARTERS = st.integers(-16, 16).map(lambda n: n / 4)
LOGITS = st.lists(QUARTERS, min_size=V, max_size=V)
IDS = st.lists(st.integers(0, V - 1), max_size=5)
SAMPLER = st.fixed_dictionaries(
    {"temperature": st.sampled_from([0.3, 0.7, 1.0, 2.0])},
    optional={
        "top_p": st.floats(0, 1),
        "top_k": st.integers(0, V + 1),
        "min_p": st.floats(0, 1),
        "repetition_penalty": st.sampled_from([0.5, 1.0, 2.0, 4.0]),
        "presence_penalty": QUARTERS,
        "frequency_penalty": QUARTERS,
        "logit_bias": st.lists(st.tuples(st.integers(0, V + 1), QUARTERS), max_size=3).map(tuple),
    },
).map(lambda fields: SamplerConfig(**fields))


def is_borderline(adjusted: np.ndarray, config: SamplerConfig) -> bool:
    """Whether a filter moved by a hair keeps other tokens; float32 may then see one on the other side."""
    kept = filtered_distribution(adjusted, config) > 0
    for factor in (1 - HAIR, 1 + HAIR):
        top_p = config.top_p if config.top_p == 1 else min(1.0, config.top_p * factor)
        moved = replace(config, top_p=top_p, min_p=min(1.0, config.min_p * factor))
        if ((filtered_distribution(adjusted, moved) > 0) != kept).any():
            return True
    return False


def check_distribution(config: SamplerConfig, logits: Sequence[float], prompt: list[int], answer: list[int]) -> None:
    adjusted = adjusted_logits(logits, config, prompt, answer)
    assume(not is_borderline(adjusted, config))
    distribution = filtered_distribution(adjusted, config)
    shaper = Shaper(config, V)
    history = History.of_prompt(mx.array(prompt, mx.int32), V).after(mx.array(answer, mx.int32))
    ours = shaper.adjust(mx.array(logits), history)
    np.testing.assert_allclose(np.array(ours), adjusted, atol=1e-5)
    ours = np.array(shaper.distribution(ours), np.float64)
    np.testing.assert_array_equal(ours > 1e-30, distribution > 1e-30)  # softmax in float32 ends near 1e-38
    np.testing.assert_array_equal(ours[distribution == 0], 0)
    np.testing.assert_allclose(ours, distribution, atol=1e-6)


@settings(max_examples=300, deadline=None)
@given(SAMPLER, LOGITS, IDS, IDS)
def test_the_distribution_is_what_the_settings_say(
    config: SamplerConfig, logits: list[float], prompt: list[int], answer: list[int]
) -> None:
    check_distribution(config, logits, prompt, answer)


@pytest.mark.parametrize(
    ("config", "logits", "distribution"),
    [
        # Ties at a border are all kept.
        (SamplerConfig(temperature=1, top_k=1), [0, 0, -1], [0.5, 0.5, 0]),
        (SamplerConfig(temperature=1, top_p=0.1), [1, 1, 1], [1 / 3, 1 / 3, 1 / 3]),
        (SamplerConfig(temperature=1, min_p=1), [2, 2, 1], [0.5, 0.5, 0]),
        # The most probable token always stays.
        (SamplerConfig(temperature=1, top_p=1e-300), [3, 0, 0], [1, 0, 0]),
        (SamplerConfig(temperature=1, top_p=0), [3, 0, 0], [1, 0, 0]),
        # Filters come before the temperature: 0.6 is reached by the first token at temperature 1 only.
        (SamplerConfig(temperature=5, top_p=0.6), np.log([0.7, 0.2, 0.1]), [1, 0, 0]),
        # top_p comes before top_k.
        (SamplerConfig(temperature=1, top_p=0.65, top_k=3), np.log([0.6, 0.3, 0.1]), [2 / 3, 1 / 3, 0]),
        # A bias of 100 forces, one of -100 blocks.
        (SamplerConfig(temperature=1, logit_bias=((2, 100),)), [9, 0, 0], [0, 0, 1]),
        (SamplerConfig(temperature=1, logit_bias=((0, -100),)), [9, 0, 0], [0, 0.5, 0.5]),
        # At 0 and 1 top_p is off, at 0 top_k and min_p are.
        (SamplerConfig(temperature=1, top_p=0, top_k=0, min_p=0), [0, 0, 0], [1 / 3, 1 / 3, 1 / 3]),
        (SamplerConfig(temperature=1e-5), [1, 0.999, -1000], [1, 0, 0]),
    ],
)  # fmt: skip
def test_the_distribution_at_its_borders(
    config: SamplerConfig, logits: Sequence[float], distribution: list[float]
) -> None:
    shaper = Shaper(config, 3)
    ours = shaper.distribution(shaper.adjust(mx.array(list(logits), mx.float32), None))
    np.testing.assert_allclose(np.array(ours), distribution, atol=1e-6)


@pytest.mark.parametrize(
    "fields",
    [
        {"top_p": 0.8},
        {"min_p": 0.2},
        {"top_k": 5},
        {"top_p": 0.9, "min_p": 0.1},
        {"top_p": 0.9, "min_p": 0.05, "top_k": 4},
    ],
)
def test_filters_keep_what_mlx_lm_keeps(fields: dict[str, float]) -> None:
    config = SamplerConfig(temperature=1, **fields)
    logits = mx.random.normal((8, 50), key=mx.random.key(3)) * 2
    theirs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    for name, keep in [("top_p", apply_top_p), ("min_p", apply_min_p), ("top_k", apply_top_k)]:
        if name in fields:
            theirs = keep(theirs, fields[name])
    ours = Shaper(config, 50).distribution(logits)
    np.testing.assert_array_equal(np.array(ours) > 0, np.isfinite(np.array(theirs)))
    np.testing.assert_allclose(np.array(ours), np.array(mx.softmax(theirs, axis=-1)), atol=1e-6)


@given(SAMPLER, LOGITS, IDS, IDS, st.sets(st.integers(0, V - 1), min_size=1))
@settings(deadline=None)
def test_a_draft_vocabulary_has_the_same_distribution_over_fewer_tokens(
    config: SamplerConfig, logits: list[float], prompt: list[int], answer: list[int], kept: set[int]
) -> None:
    ids = sorted(kept)
    history = History.of_prompt(mx.array(prompt, mx.int32), V).after(mx.array(answer, mx.int32))
    restricted = Shaper(config, V).restricted(V, mx.array(ids))
    ours = restricted.adjust(mx.array(logits)[mx.array(ids)], history)
    expected = adjusted_logits(logits, config, prompt, answer)[ids]
    np.testing.assert_allclose(np.array(ours), expected, atol=1e-5)
    unfiltered = replace(config, top_p=1.0, top_k=0, min_p=0.0)
    distribution = Shaper(unfiltered, V).restricted(V, mx.array(ids)).distribution(ours)
    np.testing.assert_allclose(np.array(distribution), filtered_distribution(expected, unfiltered), atol=1e-6)


@given(IDS, IDS, IDS)
@settings(deadline=None)
def test_the_rows_of_a_history_are_what_single_steps_give(
    prompt: list[int], answer: list[int], drafts: list[int]
) -> None:
    base = History.of_prompt(mx.array(prompt, mx.int32), V).after(mx.array(answer, mx.int32))
    rows = base.rows(mx.array(drafts, mx.int32))
    assert rows.counts.shape == (len(drafts) + 1, V)
    for row in range(len(drafts) + 1):
        np.testing.assert_array_equal(np.array(rows.counts[row]), np.array(base.counts))
        np.testing.assert_array_equal(np.array(base.counts), np.bincount(answer + drafts[:row], minlength=V))
        if row < len(drafts):
            base = base.after(mx.array(drafts[row : row + 1], mx.int32))
    np.testing.assert_array_equal(np.flatnonzero(np.array(rows.prompt)), sorted(set(prompt)))


@given(
    SAMPLER,
    st.lists(LOGITS, min_size=3, max_size=3),
    IDS,
    st.lists(st.integers(0, V - 1), min_size=2, max_size=2),
)
@settings(deadline=None)
def test_verified_rows_have_the_distributions_of_plain_decoding(
    config: SamplerConfig, logits: list[list[float]], prompt: list[int], drafts: list[int]
) -> None:
    shaper, history = Shaper(config, V), History.of_prompt(mx.array(prompt, mx.int32), V)
    together = shaper.adjust(mx.array(logits), history.rows(mx.array(drafts, mx.int32)))
    for row in range(3):
        alone = shaper.adjust(mx.array(logits[row]), history.after(mx.array(drafts[:row], mx.int32)))
        np.testing.assert_array_equal(np.array(together[row]), np.array(alone))
        np.testing.assert_array_equal(
            np.array(shaper.distribution(together)[row]), np.array(shaper.distribution(alone))
        )


@pytest.mark.parametrize(
    ("rows", "is_finite"),
    [
        ([[1.0, -math.inf], [0.0, 0.0]], True),
        ([[1.0, 0.0], [math.nan, 0.0]], False),
        ([[1.0, math.inf], [0.0, 0.0]], False),
        ([[-math.inf, -math.inf], [0.0, 0.0]], False),
        ([[math.inf, -math.inf], [0.0, 0.0]], False),
        ([[3e38, 3e38], [-3e38, -3e38]], True),
    ],
)
def test_rows_without_a_distribution_are_recognised(rows: list[list[float]], is_finite: bool) -> None:  # noqa: FBT001
    assert finite(mx.array(rows)).item() is is_finite


def test_exponentials_are_positive_and_have_the_right_mean() -> None:
    draws = np.array(draw_exponentials((200_000,), mx.random.key(5)), np.float64)
    assert draws.min() > 0
    assert np.isfinite(draws).all()
    assert abs(draws.mean() - 1) < 0.01
    assert abs(draws.var() - 1) < 0.03
    assert abs((draws < 0.001).mean() - 0.001) < 0.0003
