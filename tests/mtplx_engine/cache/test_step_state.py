"""A state that only grows: its newest single step can be undone, everything else only by a checkpoint."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, QuantizedKVCache

from mtplx_engine.cache.token_cache import TokenCache

HIDDEN = mx.ones((1, 4))


def _forward(cache: TokenCache, count: int) -> None:
    """Put into the state what depends on all tokens that it ever read, as mlx-lm's layers do."""
    state = cache.layers[0]
    before = state[0] if state[0] is not None else mx.zeros((1, 2, 3))
    state[0], state[1] = before * 1.5 + count, before - count
    state.advance(count)


def _bits(cache: TokenCache) -> list[bytes]:
    return [np.array(array).tobytes() for array in cache.contents()]


@pytest.fixture
def cache() -> TokenCache:
    return TokenCache([ArraysCache(2)])


def test_a_single_step_is_taken_back_and_no_more(cache: TokenCache) -> None:
    _forward(cache, 7)
    assert (cache.length, cache.reachable(6)) == (7, 0)  # a prompt is one forward
    _forward(cache, 1)
    expected = _bits(cache)
    _forward(cache, 1)
    assert [cache.reachable(length) for length in (9, 8, 7)] == [9, 8, 0]
    cache.trim_to(9)
    cache.trim_to(8)
    assert (cache.length, _bits(cache)) == (8, expected)
    assert cache.reachable(7) == 0  # the state before is not kept twice
    with pytest.raises(ValueError, match="cannot go back from 8 tokens to 7"):
        cache.trim_to(7)
    _forward(cache, 1)
    cache.trim_to(8)
    assert _bits(cache) == expected


def test_back_to_nothing_is_always_possible(cache: TokenCache) -> None:
    for counts in ([1], [4], [4, 1, 1]):
        for count in counts:
            _forward(cache, count)
        cache.trim_to(0)
        assert (cache.length, cache.contents()) == (0, [])
    _forward(cache, 3)
    expected = _bits(cache)
    cache.trim_to(0)
    _forward(cache, 3)
    assert _bits(cache) == expected


def test_a_checkpoint_is_reachable_and_what_it_was(cache: TokenCache) -> None:
    _forward(cache, 5)
    cache.checkpoint(HIDDEN)
    expected = _bits(cache)
    for count in (3, 1, 1):
        _forward(cache, count)
    assert [cache.reachable(length) for length in (10, 9, 8, 5, 4)] == [10, 9, 5, 5, 0]
    cache.trim_to(5)
    assert (cache.length, _bits(cache)) == (5, expected)


def test_a_checkpoint_of_a_slice_does_not_hold_the_whole(cache: TokenCache) -> None:
    state = cache.layers[0]
    state[0] = state[1] = mx.zeros((1, 1 << 20, 1))[:, -3:]
    state.advance(1 << 20)
    mx.eval(cache.arrays())
    held = mx.get_active_memory()
    cache.checkpoint(HIDDEN)
    state[0] = state[1] = mx.zeros((1, 3, 1))
    state.advance(2)
    assert mx.get_active_memory() < held - (3 << 20)
    assert cache.reachable(1 << 20) == 1 << 20


def test_a_group_goes_back_as_one() -> None:
    cache = TokenCache([CacheList(KVCache(), QuantizedKVCache(64, 8))])
    group = cache.layers[0]

    def read(count: int) -> None:
        entries = mx.arange(cache.length, cache.length + count, dtype=mx.float32)[None, None, :, None]
        for part in range(2):
            group[part].update_and_fetch(*[mx.broadcast_to(entries, (1, 1, count, 64))] * 2)

    read(5)
    expected = _bits(cache)
    read(4)
    assert (cache.length, cache.reachable(5)) == (9, 5)
    cache.trim_to(5)
    assert (cache.length, _bits(cache)) == (5, expected)
    read(4)
    assert cache.length == 9
    cache.trim_to(0)
    assert all(array.size == 0 for array in cache.contents())
