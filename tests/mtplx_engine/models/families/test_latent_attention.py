"""Latent attention gives a row the same bits however the tokens are cut into forwards."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx_lm.models import glm4_moe_lite as stock
from mlx_lm.models.cache import KVCache

from mtplx_engine.models.families import appended
from tests.support.checkpoints.deepseek_v3 import TINY as DEEPSEEK
from tests.support.checkpoints.glm4_moe_lite import TINY as GLM

if TYPE_CHECKING:
    from collections.abc import Callable


LENGTH = 24
CUTS = st.sets(st.integers(1, LENGTH - 1)).map(lambda cuts: [0, *sorted(cuts), LENGTH])
# Long forwards unpack keys and values in mlx-lm, single rows do not: what would be seen without our form.
ROW_BY_ROW = list(range(LENGTH + 1))


def outputs(attention: Callable[..., mx.array], cuts: list[int]) -> np.ndarray:
    rows = mx.random.normal((1, LENGTH, 64), key=mx.random.key(1))
    cache, parts = KVCache(), []
    for start, end in itertools.pairwise(cuts):
        mask = cache.make_mask(end - start, return_array=True, window_size=None)
        parts.append(attention(rows[:, start:end], mask, cache))
    return np.array(mx.concatenate(parts, axis=1))


ATTENTIONS = (
    appended.DeepseekV3Attention(appended.DEEPSEEK_V3.args.from_dict(DEEPSEEK.config)),
    appended.Glm4MoeLiteAttention(appended.GLM4_MOE_LITE.args.from_dict(GLM.config)),
)


@pytest.mark.parametrize("attention", ATTENTIONS, ids=["deepseek_v3", "glm4_moe_lite"])
@settings(max_examples=25, deadline=None)
@given(cuts=CUTS)
def test_a_row_has_the_same_bits_in_every_cut(attention: Callable[..., mx.array], cuts: list[int]) -> None:
    np.testing.assert_array_equal(outputs(attention, cuts), outputs(attention, [0, LENGTH]))


def test_the_form_of_mlx_lm_is_the_same_up_to_rounding_only() -> None:
    ours = ATTENTIONS[1]
    theirs = stock.Glm4MoeLiteAttention(stock.ModelArgs.from_dict(GLM.config))
    theirs.update(ours.parameters())
    np.testing.assert_allclose(outputs(theirs, [0, LENGTH]), outputs(ours, [0, LENGTH]), atol=1e-5)
    assert (outputs(theirs, [0, LENGTH]) != outputs(theirs, ROW_BY_ROW)).any()
