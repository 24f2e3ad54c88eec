"""A second model drafts from the distribution that it reports, and its cache is that of a fresh prefill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.bench.prefix import g_test
from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft.draft_model import DraftModelDrafter
from mtplx_engine.sampling import History, Shaper
from tests.support.exact_distribution import next_token_distribution
from tests.support.fresh import check_caches
from tests.support.tiny import tiny_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.models.target import Target


PROMPT = [1, 2, 0, 3, 3, 1]
VOCABULARY = 5
SETTINGS = [
    {"temperature": 0.7},
    {"temperature": 1.0, "top_p": 0.8, "logit_bias": ((2, 1.0),)},
    {"temperature": 0.7, "top_k": 3, "repetition_penalty": 1.4},
    {"temperature": 1.3, "min_p": 0.1, "frequency_penalty": 0.7},
]


def drafter_at(model: Target, prompt: Sequence[int], vocabulary: int = VOCABULARY) -> DraftModelDrafter:
    drafter = DraftModelDrafter(model, vocabulary, chunk=4)
    drafter.begin(prompt, len(prompt) - 2)
    drafter.extend(mx.zeros((1, 1)), prompt[-1:])
    return drafter


def expected_distributions(model: Target, config: SamplerConfig, drafts: Sequence[int], vocabulary: int) -> Any:
    distributions = np.zeros((len(drafts), vocabulary))
    for step in range(len(drafts)):
        answer = [PROMPT[-1], *drafts[:step]]
        text = mx.array([[*PROMPT[:-1], *answer]], mx.int32)
        logits = np.array(model.model(text)[0, -1], np.float64)[:vocabulary]
        distributions[step, : logits.size] = next_token_distribution(logits, config, PROMPT[:-1], answer)
    return distributions


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("known", [VOCABULARY, VOCABULARY - 1, VOCABULARY + 2])
def test_its_distributions_are_those_of_its_logits(known: int, settings: dict[str, Any]) -> None:
    model, config = tiny_target(known, seed=3), SamplerConfig(**settings)
    history = History.of_prompt(mx.array(PROMPT[:-1]), VOCABULARY).after(mx.array(PROMPT[-1:]))
    drafter = drafter_at(model, PROMPT)
    shaper = Shaper(config, VOCABULARY)
    for seed in range(3):
        drafter.trim_to(len(PROMPT) - 1)
        draft = drafter.propose(4, shaper, history if config.needs_history else None, mx.random.key(seed))
        distributions = expected_distributions(model, config, draft.tokens.tolist(), VOCABULARY)
        np.testing.assert_allclose(np.array(draft.distributions), distributions, atol=2e-6)


def test_its_drafts_follow_their_distributions() -> None:
    model, config = tiny_target(4, seed=3), SamplerConfig(temperature=0.7)
    drafter, shaper = drafter_at(model, PROMPT, 4), Shaper(config, 4)
    counts, distribution = np.zeros((4, 4)), np.zeros((4, 4))
    for seed in range(400):
        drafter.trim_to(len(PROMPT) - 1)
        draft = drafter.propose(2, shaper, None, mx.random.key(seed))
        first, second = draft.tokens.tolist()
        counts[first, second] += 1
        distributions = np.array(draft.distributions, np.float64)
        distribution[first] = distributions[0, first] * distributions[1]
    assert distribution.sum() == pytest.approx(1, abs=1e-5)  # every first token came
    assert g_test(counts.ravel(), distribution.ravel()) > 1e-4


def test_greedy_drafts_are_its_own_greedy_text() -> None:
    model = tiny_target(VOCABULARY, seed=3)
    text = list(PROMPT)
    for _ in range(6):
        text.append(int(mx.argmax(model.model(mx.array([text]))[0, -1])))
    shaper = Shaper(SamplerConfig(temperature=0), VOCABULARY)
    draft = drafter_at(model, PROMPT).propose(6, shaper, None, None)
    assert (draft.tokens.tolist(), draft.distributions) == (text[len(PROMPT) :], None)


def test_tokens_that_it_does_not_know_are_read_as_its_last_one() -> None:
    model = tiny_target(VOCABULARY - 1, seed=3)
    shaper = Shaper(SamplerConfig(temperature=0), VOCABULARY)
    odd, known = [1, 4, 0, 4], [1, 3, 0, 3]
    drafts = [drafter_at(model, text).propose(3, shaper, None, None).tokens.tolist() for text in (odd, known)]
    assert drafts[0] == drafts[1]


@pytest.mark.parametrize("reused", [0, 1, 5, 11])
def test_a_long_text_is_read_in_pieces_but_for_its_newest_token(reused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt = tiny_target(VOCABULARY, seed=3), [token % VOCABULARY for token in range(40)]
    sizes: list[int] = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda tokens, cache: sizes.append(tokens.size) or forward(tokens, cache))
    drafter = DraftModelDrafter(model, VOCABULARY, chunk=7)
    drafter.begin(prompt, reused)
    drafter.extend(mx.zeros((1, 1)), prompt[reused + 1 :])
    assert drafter.tokens == prompt
    assert max(sizes) == 7
    assert drafter.cache.length < len(prompt)
    drafter.flush()
    check_caches(model, prompt, drafter.cache, None, lambda: drafter)


def test_after_a_walk_its_cache_is_a_fresh_one() -> None:
    model, shaper = tiny_target(VOCABULARY, seed=3, layers=2), Shaper(SamplerConfig(), VOCABULARY)
    drafter, generator = drafter_at(model, PROMPT), np.random.default_rng(1)
    tokens = list(PROMPT)
    for step in range(12):
        drafter.propose(1 + step % 4, shaper, None, mx.random.key(step))
        if step % 3 == 2:
            tokens = tokens[: int(generator.integers(1, len(tokens)))]
            drafter.trim_to(len(tokens) - 1)
        more = generator.integers(0, VOCABULARY, 1 + step % 5).tolist()
        tokens += more
        drafter.extend(mx.zeros((len(more), 1)), more)
        assert drafter.pairs == len(tokens) - 1
    drafter.flush()
    assert drafter.tokens == tokens
    check_caches(model, tokens, drafter.cache, None, lambda: drafter)


def test_another_prompt_replaces_the_first_token_too() -> None:
    model = tiny_target(VOCABULARY, seed=3)
    drafter = drafter_at(model, PROMPT)
    drafter.flush()
    other = [4, *PROMPT[1:]]
    assert drafter.begin(other, 0) == 0
    assert drafter.tokens == other[:1]
    drafter.flush()
    check_caches(model, other[:1], drafter.cache, None, lambda: drafter)
