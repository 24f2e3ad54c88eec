"""Packed keys and values: going back is exact, since entries are packed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from mlx_lm.models.cache import QuantizedKVCache

from mtplx_engine.cache.token_cache import TokenCache
from tests.support.tiny_llama import IDS, check_fresh, read, tiny_llama

if TYPE_CHECKING:
    from mlx_lm.models.llama import Model


@pytest.fixture(scope="module")
def model() -> Model:
    return tiny_llama(head_dim=32)


def _cache(model: Model, bits: int) -> TokenCache:
    return TokenCache([QuantizedKVCache(group_size=32, bits=bits) for _ in model.layers])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("before", [0, 20, 253])
@pytest.mark.parametrize("kept", [0, 1, 4, 6])
def test_every_accept_count_equals_a_fresh_prefill(model: Model, before: int, kept: int, bits: int) -> None:
    cache = _cache(model, bits)
    if before:
        read(model, IDS[:before], cache)
    read(model, IDS[before : before + 6], cache)
    cache.trim_to(before + kept)
    check_fresh(model, cache, IDS[: before + kept], _cache(model, bits))


@pytest.mark.parametrize("bits", [4, 8])
def test_any_length_is_reachable_and_logits_are_those_of_mlx_lm(model: Model, bits: int) -> None:
    cache = _cache(model, bits)
    read(model, IDS[:300], cache, 7)
    assert cache.reachable(17) == 17
    cache.trim_to(17)
    theirs = _Theirs([QuantizedKVCache(group_size=32, bits=bits) for _ in model.layers])
    read(model, IDS[:17], theirs)
    assert np.array_equal(read(model, IDS[17:40], cache), read(model, IDS[17:40], theirs))


class _Theirs:
    """mlx-lm's caches as they are."""

    def __init__(self, layers: list[QuantizedKVCache]) -> None:
        self.layers = layers

    def arrays(self) -> list[object]:
        return [layer.state for layer in self.layers]
