"""Every drafter at every depth with every sampler option: the acceptance rule gets the right p and q.

The target's rows are those of plain decoding after the same tokens, bit for bit (on the wheel's own BLAS), also after
a rejected draft. q is the distribution that the drafts were drawn from, and equals the one computed in a second way:
plain forwards of the whole sequence, and a sampler in numpy. That the rule then gives the target's distribution exactly
is shown for any p and q by `test_acceptance.py`, and here for these.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, get_args

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import KVCache

from mtplx_engine.acceptance import speculative_output_marginal
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import DrafterKind, SamplerConfig
from mtplx_engine.draft.draft_model import DraftModelDrafter
from mtplx_engine.draft.drafter import CombinedDrafter
from mtplx_engine.draft.mtp_head import Chain
from mtplx_engine.draft.prompt_lookup import MATCH, PromptLookupDrafter
from mtplx_engine.sampling import History
from tests.support.exact_distribution import next_token_distribution
from tests.support.recording import PlainRows, verify_steps
from tests.support.tiny import tiny_head_drafter, tiny_target
from tests.support.tiny_hybrid import KINDS as HYBRIDS
from tests.support.tiny_hybrid import hybrid_head_drafter, hybrid_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.target import Target
    from tests.support.recording import Verified

    Floats = NDArray[np.float64]


VOCABULARY = 6
PROMPT = tuple(range(VOCABULARY)) * 3  # so that there is something to copy from the start
DRAFTERS = get_args(DrafterKind)
DEPTHS = (1, 2, 3, 4)
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "temperature": {"temperature": 1.4},
    "top_p": {"top_p": 0.8},
    "top_k": {"top_k": 3},
    "min_p": {"min_p": 0.15},
    "repetition penalty": {"repetition_penalty": 1.4},
    "presence penalty": {"presence_penalty": 0.8},
    "frequency penalty": {"frequency_penalty": 0.5},
    "logit_bias": {"logit_bias": ((1, 1.5), (4, -0.7))},
    "strict": {"verify_core": "strict"},
}
ALONE = [(), *((name,) for name in OPTIONS)]
PAIRS = [pair for pair in itertools.combinations(OPTIONS, 2) if pair != ("greedy", "temperature")]
CELLS = list(itertools.product(DRAFTERS, DEPTHS))


@pytest.fixture(scope="module")
def llama() -> Target:
    return tiny_target(VOCABULARY)


@pytest.fixture(scope="module")
def padded_llama() -> Target:
    """One whose verify steps are filled up to a width that this machine's kernels like."""
    return tiny_target(VOCABULARY, width_multiple=4)


@pytest.fixture(scope="module")
def qwen3_5() -> Target:
    return hybrid_target("qwen3_5", VOCABULARY)


@pytest.fixture(scope="module")
def qwen3_next() -> Target:
    return hybrid_target("qwen3_next", VOCABULARY)


def settings(options: tuple[str, ...], depth: int) -> SamplerConfig:
    fields: dict[str, Any] = {"temperature": 0.7, "speculative_depth": depth}
    for name in options:
        fields |= OPTIONS[name]
    return SamplerConfig(**fields)


def new_drafter(kind: str, target: Target) -> Drafter:
    """Make one; the Llama's head drafts all tokens but the first, the draft model knows all but the last."""
    if kind == "prompt_lookup":
        return PromptLookupDrafter(VOCABULARY)
    if kind == "draft_model":
        return DraftModelDrafter(tiny_target(VOCABULARY - 1, seed=9, spread=0.4), VOCABULARY, chunk=4)
    if target.model.model_type == "llama":
        head = tiny_head_drafter(target, draft_ids=range(1, VOCABULARY))
    else:
        head = hybrid_head_drafter(target.model.model_type, target, spread=0.5)
    return head if kind == "mtp" else CombinedDrafter(PromptLookupDrafter(VOCABULARY), head)


def copied(context: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return what followed the newest earlier match of the last tokens, () without a match."""
    for end in range(len(context) - 1, MATCH - 1, -1):
        if context[end - MATCH : end] == context[-MATCH:]:
            text = list(context)
            for _ in range(count):
                text.append(text[end + len(text) - len(context)])
            return tuple(text[len(context) :])
    return ()


def head_logits(target: Target, drafter: MTPDrafter, step: Verified) -> Floats:
    """Return the logits [k, V] of a head that reads the whole context anew, -inf for what it cannot draft."""
    head, cache = drafter._head, KVCache()
    hidden = target.forward(mx.array(step.context), TokenCache(target.new_layers()))[:-1]
    tokens, rows = mx.array(step.context[1:]), []
    for draft in step.drafts:
        hidden = head(head.inputs(target.embed(tokens), hidden), cache)[-1:]
        rows.append(np.array(drafter._project(head.readout(hidden))[0]))
        tokens = mx.array([draft])
    ids = range(VOCABULARY) if drafter._ids is None else drafter._ids.tolist()
    logits = np.full((len(rows), VOCABULARY), -np.inf)
    logits[:, ids] = rows
    return logits


def model_logits(drafter: DraftModelDrafter, step: Verified) -> Floats:
    """Return the logits [k, V] of the draft model after the whole text."""
    logits = np.full((len(step.drafts), VOCABULARY), -np.inf)
    known = VOCABULARY - 1
    for row in range(len(step.drafts)):
        text = [min(token, known - 1) for token in (*step.context, *step.drafts[:row])]
        logits[row, :known] = np.array(drafter._model.model(mx.array([text]))[0, -1])
    return logits


def expected_q(target: Target, drafter: Drafter, config: SamplerConfig, step: Verified) -> Floats:
    """Return the distribution [k, V] of the drafts of a step, made a second way; greedy drafts are point masses."""
    if isinstance(drafter, CombinedDrafter):
        inner = drafter.first if copied(step.context, 1) else drafter.second
        return expected_q(target, inner, config, step)
    if isinstance(drafter, PromptLookupDrafter):
        return np.eye(VOCABULARY)[list(copied(step.context, len(step.drafts)))]
    logits = (
        model_logits(drafter, step) if isinstance(drafter, DraftModelDrafter) else head_logits(target, drafter, step)
    )
    warm = dataclasses.replace(config, temperature=1.0) if config.greedy else config
    answer = step.context[len(PROMPT) :]
    distributions = np.array(
        [next_token_distribution(z, warm, PROMPT, (*answer, *step.drafts[:row])) for row, z in enumerate(logits)]
    )
    return np.eye(VOCABULARY)[distributions.argmax(axis=1)] if config.greedy else distributions


def bits(array: NDArray[np.generic]) -> NDArray[np.uint32]:
    return np.atleast_1d(array).view(np.uint32)


def check_step(target: Target, plain: PlainRows, drafter: Drafter, config: SamplerConfig, step: Verified) -> None:
    for row in reversed(range(len(step.drafts) + 1)):  # the longest text decodes those it begins with, too
        logits, distribution = plain.after((*step.context, *step.drafts[:row]))
        assert (bits(step.logits[row]) == bits(logits)).all(), f"logits of row {row}"
        assert (bits(step.distribution[row]) == bits(distribution)).all(), f"distribution of row {row}"
    expected = expected_q(target, drafter, config, step)
    assert (expected[range(len(step.drafts)), step.drafts] > 0).all()
    if step.q is None:
        assert not step.raced
        return
    np.testing.assert_allclose(step.q, expected, rtol=1e-4, atol=1e-6)
    check_draws(step)
    p = step.distribution[:-1].astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    marginal = speculative_output_marginal(p, step.q, config)
    np.testing.assert_allclose(marginal, p, rtol=0, atol=1e-6)


def check_draws(step: Verified) -> None:
    """Assert that q is what the drafts were drawn by, bit for bit, unless they are copies."""
    if not step.raced:
        assert step.drafts == copied(step.context, len(step.drafts))
        return
    for q, draft, (weights, winner) in zip(step.q, step.drafts, step.raced, strict=True):
        assert (bits(q[q > 0]) == bits(weights[weights > 0])).all(), "drawn by another distribution"
        assert q[draft] == weights[winner]


def check_cell(target: Target, kind: str, depth: int, choices: list[tuple[str, ...]]) -> int:
    """Check answers with each choice of options; returns how many drafts were accepted in all."""
    accepted = 0
    for number, options in enumerate(choices):
        config = settings(options, depth)
        drafter = new_drafter(kind, target)
        steps, kept = verify_steps(target, drafter, PROMPT, config, seed=number, max_tokens=depth + 3)
        accepted += kept
        assert steps, options
        plain = PlainRows(target, PROMPT, config)
        for step in steps:
            try:
                check_step(target, plain, drafter, config, step)
            except AssertionError as error:
                raise AssertionError(f"{options} after {step.context}, drafts {step.drafts}") from error
    return accepted


@pytest.mark.parametrize(("kind", "depth"), CELLS)
def test_each_option_alone_and_some_pairs(llama: Target, kind: str, depth: int) -> None:
    """All cells together see every pair."""
    at = CELLS.index((kind, depth))
    assert check_cell(llama, kind, depth, [*ALONE, *PAIRS[at :: len(CELLS)]]) > 0


@pytest.mark.parametrize("kind", DRAFTERS)
def test_filled_up_verify_steps(padded_llama: Target, kind: str) -> None:
    check_cell(padded_llama, kind, 2, [(), ("top_p", "frequency penalty")])


@pytest.mark.parametrize("target", HYBRIDS)
@pytest.mark.parametrize("kind", DRAFTERS)
def test_a_hybrid(target: str, kind: str, request: pytest.FixtureRequest) -> None:
    choices = [(), ("greedy",), ("top_p", "frequency penalty"), ("strict", "logit_bias")]
    check_cell(request.getfixturevalue(target), kind, 3, choices)


@pytest.mark.long
@pytest.mark.parametrize("target", ["llama", *HYBRIDS])
@pytest.mark.parametrize(("kind", "depth"), CELLS)
def test_each_option_and_pair(target: str, kind: str, depth: int, request: pytest.FixtureRequest) -> None:
    accepted = check_cell(request.getfixturevalue(target), kind, depth, [*ALONE, *PAIRS])
    assert accepted > 0 or (target in HYBRIDS and kind == "prompt_lookup")  # they hardly ever repeat themselves


# ---------------------------------------------------------------- faults that these checks must see


def test_a_distribution_that_the_drafts_were_not_drawn_by_is_seen(
    llama: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread = Chain._over_vocabulary
    monkeypatch.setattr(Chain, "_over_vocabulary", lambda self, q: spread(self, mx.softmax(q)))
    with pytest.raises(AssertionError, match="drafts"):
        check_cell(llama, "mtp", 2, [()])


def test_penalties_of_another_row_are_seen(llama: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(self: History, drafts: mx.array) -> History:
        return History(self.prompt, mx.broadcast_to(self.counts, (drafts.size + 1, VOCABULARY)))

    monkeypatch.setattr(History, "rows", faulty)
    check_cell(llama, "mtp", 2, [("temperature",)])
    with pytest.raises(AssertionError, match="frequency penalty"):
        check_cell(llama, "mtp", 2, [("frequency penalty",)])


def test_a_row_with_other_bits_is_seen(qwen3_5: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace each verified logit by its neighbour in float32, as a kernel of another order of sums might."""
    logits = qwen3_5.logits

    def nudged(hidden: mx.array) -> mx.array:
        rows = logits(hidden)
        return rows if len(rows) == 1 else rows * (1 + 2.0**-23)

    monkeypatch.setattr(qwen3_5, "logits", nudged)
    with pytest.raises(AssertionError, match="drafts"):
        check_cell(qwen3_5, "mtp", 2, [()])
