from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mtplx_engine.cache.layers import RecurrentState
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.models.gated_delta import TapedGatedDeltaNet, TapedNextGatedDeltaNet, with_states
from tests.support.tiny_hybrid import KINDS, random_ids, tiny_hybrid

if TYPE_CHECKING:
    from mlx import nn


@pytest.fixture(params=KINDS)
def models(request: pytest.FixtureRequest) -> tuple[nn.Module, nn.Module]:
    """The same weights in taped layers and in mlx-lm's own."""
    return tiny_hybrid(request.param), tiny_hybrid(request.param, taped=False)


def _logits(model: nn.Module, layers: list[Any], ids: list[int], widths: list[int]) -> np.ndarray:
    rows, start = [], 0
    for width in widths:
        rows.append(model(mx.array([ids[start : start + width]]), layers)[0])
        start += width
    return np.array(mx.concatenate(rows))


@pytest.mark.parametrize("widths", [[23], [1] * 9, [9, 1, 1, 4, 2], [100, 1, 1]], ids=str)
def test_output_is_that_of_mlx_lm_to_the_bit(models: tuple[nn.Module, nn.Module], widths: list[int]) -> None:
    taped, own = models
    ids = random_ids(sum(widths))
    cache = TokenCache(with_states(taped, taped.make_cache()))

    held = _logits(taped, cache.layers, ids, widths)

    layers = own.make_cache()
    assert np.array_equal(held, _logits(own, layers, ids, widths))
    for state, theirs in zip(cache.layers, layers, strict=True):
        if isinstance(state, RecurrentState):
            assert all(mx.array_equal(a, b) for a, b in zip(state.arrays(), theirs.cache, strict=True))


def test_with_the_caches_of_mlx_lm_a_taped_model_is_its_own(models: tuple[nn.Module, nn.Module]) -> None:
    taped, own = models
    ids = random_ids(12)
    rows = [_logits(model, model.make_cache(), ids, [9, 1, 2]) for model in models]
    assert np.array_equal(*rows)
    assert np.array_equal(np.array(taped(mx.array([ids]))), np.array(own(mx.array([ids]))))


def test_tapes_change_no_parameter_name(models: tuple[nn.Module, nn.Module]) -> None:
    names = [[name for name, _ in tree_flatten(model.parameters())] for model in models]
    assert names[0] == names[1]


def test_states_go_to_the_taped_layers_alone(models: tuple[nn.Module, nn.Module]) -> None:
    taped, own = models
    layers = with_states(taped, taped.make_cache())
    for block, layer in zip(taped.layers, layers, strict=True):
        assert isinstance(layer, RecurrentState) is block.is_linear
        if block.is_linear:
            assert isinstance(block.linear_attn, TapedGatedDeltaNet | TapedNextGatedDeltaNet)
    assert not any(isinstance(layer, RecurrentState) for layer in with_states(own, own.make_cache()))
