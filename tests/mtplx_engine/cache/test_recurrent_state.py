"""Going back inside a block: the state is that of a fresh prefill, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.cache.layers import LONGEST_TAPE, RecurrentState
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.models.gated_delta import with_states
from tests.support.tiny_hybrid import KINDS, random_ids, tiny_hybrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlx import nn


IDS = random_ids(120)
BEFORE, WIDTH = 21, 6


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    return tiny_hybrid(request.param)


def _cache(model: nn.Module, ids: Sequence[int] = ()) -> TokenCache:
    cache = TokenCache(with_states(model, model.make_cache()))
    if ids:
        _forward(model, cache, ids)
    return cache


def _forward(model: nn.Module, cache: TokenCache, ids: Sequence[int]) -> None:
    mx.eval(model(mx.array([list(ids)]), cache.layers), cache.arrays())


def _check(model: nn.Module, cache: TokenCache, ids: Sequence[int]) -> None:
    """Assert that the cache is that of a fresh prefill of `ids`, now and after one more token."""
    fresh = _cache(model, ids)
    assert cache.length == fresh.length == len(ids)
    for held, expected in zip(cache.contents(), fresh.contents(), strict=True):
        assert np.array_equal(np.array(held), np.array(expected))
    rows = [np.array(model(mx.array([[7]]), each.layers)) for each in (cache, fresh)]
    assert np.array_equal(*rows)


@pytest.mark.parametrize("kept", range(WIDTH + 1))
def test_every_accept_count_equals_a_fresh_prefill(model: nn.Module, kept: int) -> None:
    cache = _cache(model, IDS[:BEFORE])
    _forward(model, cache, IDS[BEFORE : BEFORE + WIDTH])

    cache.trim_to(BEFORE + kept)

    _check(model, cache, IDS[: BEFORE + kept])


def test_a_block_can_be_cut_again_and_again(model: nn.Module) -> None:
    cache = _cache(model, IDS[:BEFORE])
    _forward(model, cache, IDS[BEFORE : BEFORE + WIDTH])
    for kept in (5, 2, 1, 0):
        cache.trim_to(BEFORE + kept)
        for held, expected in zip(cache.contents(), _cache(model, IDS[: BEFORE + kept]).contents(), strict=True):
            assert np.array_equal(np.array(held), np.array(expected))
    _check(model, cache, IDS[:BEFORE])


def test_blocks_after_a_cut_build_on_it(model: nn.Module) -> None:
    cache, length = _cache(model, IDS[:BEFORE]), BEFORE
    for kept in (0, 3, 6, 1, 4):
        _forward(model, cache, [*IDS[length : length + kept], *[3] * (WIDTH - kept)])
        length += kept
        cache.trim_to(length)
    _check(model, cache, IDS[:length])


@pytest.mark.parametrize("kept", range(5))
def test_single_rows_joined_to_a_block_are_undone_like_one_forward(model: nn.Module, kept: int) -> None:
    cache = _cache(model, IDS[:BEFORE])
    with cache.one_block():
        for token in IDS[BEFORE : BEFORE + 4]:
            _forward(model, cache, [token])
    cache.trim_to(BEFORE + kept)
    _check(model, cache, IDS[: BEFORE + kept])


def test_the_first_block_goes_back_to_nothing(model: nn.Module) -> None:
    cache = _cache(model, IDS[:4])
    cache.trim_to(1)
    _check(model, cache, IDS[:1])
    cache.trim_to(0)
    _forward(model, cache, IDS[:9])
    _check(model, cache, IDS[:9])


def test_before_the_last_block_nothing_is_reachable_but_the_start(model: nn.Module) -> None:
    cache = _cache(model, IDS[:BEFORE])
    _forward(model, cache, IDS[BEFORE : BEFORE + 3])
    assert cache.reachable(BEFORE + 2) == BEFORE + 2
    assert cache.reachable(BEFORE) == BEFORE
    assert cache.reachable(BEFORE - 1) == 0
    with pytest.raises(ValueError, match=f"from {BEFORE + 3} tokens to {BEFORE - 1}"):
        cache.trim_to(BEFORE - 1)
    assert cache.length == BEFORE + 3


def test_a_long_prompt_leaves_no_tape(model: nn.Module) -> None:
    cache = _cache(model, IDS[: LONGEST_TAPE + 1])
    assert cache.reachable(LONGEST_TAPE) == 0
    with pytest.raises(ValueError, match="cannot go back"):
        cache.trim_to(LONGEST_TAPE)
    _forward(model, cache, IDS[LONGEST_TAPE + 1 : LONGEST_TAPE + 5])
    cache.trim_to(LONGEST_TAPE + 3)
    _check(model, cache, IDS[: LONGEST_TAPE + 3])


def test_a_forward_that_left_no_tape_is_not_undone() -> None:
    state = RecurrentState()
    state[0], state[1] = mx.ones((1, 3, 4)), mx.ones((1, 2, 3, 4))
    state.advance(2)
    assert state.floor == 2


def test_one_state_is_kept_however_wide_the_block_is(model: nn.Module) -> None:
    """Apart from the tape, whose steps are small, a block holds the state before it and the one after it."""
    held = []
    for width in (2, 12):
        cache = _cache(model, IDS[:BEFORE])
        _forward(model, cache, IDS[BEFORE : BEFORE + width])
        layer = next(layer for layer in cache.layers if isinstance(layer, RecurrentState))
        shapes = [array.shape for array in _arrays_of(layer)]
        held.append(shapes.count(layer[1].shape))
    assert held == [2, 2]


def _arrays_of(layer: RecurrentState) -> list[mx.array]:
    fields = (*layer._now, *layer._base, *(array for steps in layer._tape for array in steps))
    return [array for array in fields if array is not None]
