"""Checkpoints: lengths that a hybrid's cache can go back to over many blocks."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx_lm.models.cache import ArraysCache, CacheList, ChunkedKVCache, KVCache

from mtplx_engine.cache.layers import RecurrentState
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models.gated_delta import with_states
from tests.support.tiny_hybrid import random_ids, tiny_hybrid

MODEL = tiny_hybrid("qwen3_5")
HIDDEN = mx.ones((1, 4))


def _cache(**bounds: int) -> TokenCache:
    return TokenCache(with_states(MODEL, MODEL.make_cache()), **bounds)


def _forward(cache: TokenCache, ids: list[int]) -> None:
    mx.eval(MODEL(mx.array([ids]), cache.layers), cache.arrays())


def _bits(cache: TokenCache) -> list[bytes]:
    return [np.array(array).tobytes() for array in cache.contents()]


def _at_every_5(cache: TokenCache, count: int) -> None:
    for number in range(count):
        _forward(cache, random_ids(5, number))
        cache.checkpoint(HIDDEN * number)


def test_a_checkpoint_is_reachable_and_what_it_was() -> None:
    cache = _cache()
    _forward(cache, random_ids(12))
    cache.checkpoint(HIDDEN)
    expected = _bits(cache)
    for _ in range(3):
        _forward(cache, random_ids(3, 1))
    assert cache.reachable(13) == 12
    assert cache.reachable(11) == 0

    cache.trim_to(12)

    assert _bits(cache) == expected
    hidden = cache.hidden_at(12)
    assert hidden is not None
    assert mx.array_equal(hidden, HIDDEN)


def test_going_back_forgets_the_checkpoints_past_it() -> None:
    cache = _cache()
    _at_every_5(cache, 4)
    cache.trim_to(10)
    _forward(cache, random_ids(20, 9))
    _forward(cache, [1])
    assert cache.reachable(29) == 10
    assert cache.hidden_at(15) is None


def test_one_length_has_one_checkpoint_the_newest() -> None:
    cache = _cache(most_checkpoints=2)
    _at_every_5(cache, 2)
    cache.checkpoint(HIDDEN * 7)
    newest = cache.hidden_at(10)
    assert newest is not None
    assert mx.array_equal(newest, HIDDEN * 7)
    assert cache.hidden_at(5) is not None


def test_the_number_is_bounded_and_the_cheapest_loss_goes() -> None:
    cache = _cache(most_checkpoints=3)
    for number, count in enumerate([20, 10, 3, 30]):
        _forward(cache, random_ids(count, number))
        cache.checkpoint(HIDDEN)
    _forward(cache, [1])
    _forward(cache, [1])
    assert [cache.reachable(length) for length in (65, 63, 32, 29)] == [65, 63, 30, 20]


def test_the_bytes_are_bounded() -> None:
    one = sum(array.nbytes for layer in _filled().layers for array in layer.snapshot())
    cache = _cache(most_bytes=2 * one)
    _at_every_5(cache, 5)
    assert sum(cache.hidden_at(length) is not None for length in range(5, 26, 5)) == 2
    _at_every_5(none := _cache(most_bytes=one - 1), 2)
    assert none.hidden_at(10) is None


def _filled() -> TokenCache:
    cache = _cache()
    _forward(cache, random_ids(5))
    return cache


def test_layers_that_keep_everything_need_no_checkpoint() -> None:
    cache = TokenCache([KVCache()])
    cache.layers[0].update_and_fetch(mx.ones((1, 1, 7, 4)), mx.ones((1, 1, 7, 4)))
    cache.checkpoint(HIDDEN)
    assert cache.hidden_at(7) is None
    assert cache.reachable(3) == 3


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 7), st.booleans()), min_size=2, max_size=6),
    st.integers(0, 40),
)
def test_a_snapshot_never_changes_whatever_is_written_later(turns: list[tuple[int, int, bool]], start: int) -> None:
    """Two chats over one prefix: each turn goes back to what is reachable, reads on, and equals a fresh prefill."""
    prefix = random_ids(start)
    cache, tokens = _cache(), list(prefix)
    if prefix:
        _forward(cache, prefix)
        cache.checkpoint(HIDDEN)
    for number, (back, width, is_kept) in enumerate(turns):
        length = cache.reachable(max(len(prefix), cache.length - back))
        cache.trim_to(length)
        new = random_ids(width, 100 + number)
        tokens = [*tokens[:length], *new]
        _forward(cache, new)
        if is_kept:
            cache.checkpoint(HIDDEN)
        fresh = _cache()
        _forward(fresh, tokens)
        assert _bits(cache) == _bits(fresh)
        assert cache.reachable(len(prefix)) == len(prefix)


@pytest.mark.parametrize(
    "layer",
    [CacheList(KVCache(), ArraysCache(2)), ChunkedKVCache(8), object()],
    ids=lambda x: type(x).__name__,
)
def test_unknown_kinds_are_refused(layer: object) -> None:
    with pytest.raises(EngineError) as caught:
        TokenCache([RecurrentState(), KVCache(), layer])
    assert caught.value.kind is ErrorKind.UNSUPPORTED
    assert type(layer).__name__ in str(caught.value)
