"""A target hands out the hiddens that its drafting head reads; its logits are the same either way."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.models.families import llama
from mtplx_engine.models.manifest import Hidden
from mtplx_engine.models.target import Target
from tests.support.tiny import tiny_target


def test_hiddens_before_the_final_norm_lead_to_the_same_logits() -> None:
    after = tiny_target(11, hidden=16)
    norm = after.model.model.norm
    norm.weight = mx.linspace(0.5, 2, 16)
    before = Target(llama, after.model, after.vocabulary, hidden=Hidden.BEFORE_NORM)
    tokens = mx.array([3, 1, 4, 1, 5])
    raw = before.forward(tokens, TokenCache(before.new_layers()))
    normed = after.forward(tokens, TokenCache(after.new_layers()))
    np.testing.assert_array_equal(np.array(norm(raw)), np.array(normed))
    assert abs(np.array(raw - normed)).max() > 0.1
    np.testing.assert_array_equal(np.array(before.logits(raw)), np.array(after.logits(normed)))
