"""Sliding windows: what a block added can be taken back, also long after the window has moved on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import RotatingKVCache

from mtplx_engine.cache.layers import WindowCache
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.errors import EngineError
from tests.support.tiny_llama import IDS, check_fresh, read, tiny_llama

if TYPE_CHECKING:
    from mlx_lm.models.llama import Model


WINDOW = 12


@pytest.fixture(scope="module")
def model() -> Model:
    """Two layers of a sliding window to one of full attention."""
    types = ["sliding_attention", "sliding_attention", "full_attention"]
    return tiny_llama(layer_types=types, sliding_window=WINDOW)


def _check(model: Model, cache: TokenCache, ids: list[int]) -> None:
    check_fresh(model, cache, ids, TokenCache(model.make_cache()))


@pytest.mark.parametrize("before", [3, 10, 70, 255, 300, 560])
@pytest.mark.parametrize("kept", [0, 1, 3, 6])
def test_every_accept_count_equals_a_fresh_prefill(model: Model, before: int, kept: int) -> None:
    cache = TokenCache(model.make_cache())
    read(model, IDS[:before], cache)
    read(model, IDS[before : before + 6], cache)
    cache.trim_to(before + kept)
    _check(model, cache, IDS[: before + kept])


@pytest.mark.parametrize("width", [1, 5, 37])
def test_the_cut_into_forwards_changes_no_bit(model: Model, width: int) -> None:
    cache, whole = TokenCache(model.make_cache()), TokenCache(model.make_cache())
    assert np.array_equal(read(model, IDS[:600], cache, width), read(model, IDS[:600], whole))


def test_logits_are_those_of_mlx_lm(model: Model) -> None:
    cache, theirs = TokenCache(model.make_cache()), model.make_cache()
    for ids in (IDS[:9], *([token] for token in IDS[9:40]), IDS[40:200]):
        expected = np.array(model(mx.array([ids]), theirs)[0])
        assert np.allclose(read(model, ids, cache), expected, atol=1e-4)


def test_a_whole_chat_of_blocks_and_cuts(model: Model) -> None:
    cache, length = TokenCache(model.make_cache()), 50
    read(model, IDS[:length], cache, 16)
    for number in range(90):
        kept = number * 5 % 7
        read(model, [*IDS[length : length + kept], *[1] * (6 - kept)], cache)
        length += kept
        cache.trim_to(length)
    assert length > 256
    _check(model, cache, IDS[:length])


def test_single_rows_joined_to_a_block_are_undone(model: Model) -> None:
    for before in range(300, 330):  # some of them where the buffer moves
        cache = TokenCache(model.make_cache())
        read(model, IDS[:before], cache, 64)
        with cache.one_block():
            read(model, IDS[before : before + 9], cache, 1)
        cache.trim_to(before)
    _check(model, cache, IDS[:before])


def test_the_buffer_does_not_grow_with_the_chat(model: Model) -> None:
    cache = TokenCache(model.make_cache())
    read(model, IDS, cache, 50)
    sizes = [array.shape[2] for array in cache.layers[0].arrays()]
    assert max(sizes) < 600
    with pytest.raises(ValueError, match="cannot go back"):
        cache.trim_to(20)


def test_a_checkpoint_outlives_the_window(model: Model) -> None:
    cache = TokenCache(model.make_cache())
    read(model, IDS[:100], cache)
    cache.checkpoint(mx.ones((1, 16)))
    read(model, IDS[100:800], cache, 50)
    for tail in (IDS[:5], IDS[5:8]):  # what is written after the first return must not reach the checkpoint
        assert cache.reachable(120) == 100
        cache.trim_to(100)
        read(model, tail, cache)
        read(model, IDS[:700], cache, 50)
    cache.trim_to(100)
    _check(model, cache, IDS[:100])


def test_a_window_that_keeps_its_first_tokens_is_refused() -> None:
    assert isinstance(TokenCache([RotatingKVCache(8)]).layers[0], WindowCache)
    with pytest.raises(EngineError, match="RotatingKVCache"):
        TokenCache([RotatingKVCache(8, keep=4)])
