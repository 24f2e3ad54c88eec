"""Tiny random Llamas of any shape, and checks that a trimmed cache is that of a fresh prefill, bit for bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.llama import Model, ModelArgs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlx import nn

    from mtplx_engine.cache.token_cache import TokenCache


VOCABULARY = 40
IDS: list[int] = np.random.default_rng(1).integers(0, VOCABULARY, 900).tolist()


def tiny_llama(**changes: Any) -> Model:
    """Make a random Llama in float32; `changes` are of its arguments."""
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    model = Model(
        ModelArgs(
            model_type="llama",
            rms_norm_eps=1e-5,
            rope_theta=100.0,
            tie_word_embeddings=True,
            **(sizes | changes),
        )
    )
    generator = np.random.default_rng(0)
    weights = []
    for name, value in sorted(tree_flatten(model.parameters())):
        if value.ndim == 2:
            drawn = generator.normal(0, 1.5 / math.sqrt(value.shape[1]), value.shape)
            weights.append((name, mx.array(drawn, mx.float32)))
    model.load_weights(weights, strict=False)
    return model


def read(model: nn.Module, ids: Sequence[int], cache: TokenCache, width: int = 10_000) -> np.ndarray:
    """Forward `ids`, at most `width` at a time; returns the logits."""
    rows = []
    for start in range(0, len(ids), width):
        logits = model(mx.array([list(ids[start : start + width])]), cache.layers)[0]
        mx.eval(cache.arrays())
        rows.append(np.array(logits))
    return np.concatenate(rows)


def check_fresh(model: nn.Module, cache: TokenCache, ids: Sequence[int], fresh: TokenCache) -> None:
    """Assert that `cache` is that of a prefill of `ids` into the empty `fresh`, now and for the next tokens."""
    if ids:
        read(model, ids, fresh)
        for held, expected in zip(cache.contents(), fresh.contents(), strict=True):
            assert np.array_equal(np.array(held), np.array(expected))
    assert cache.length == fresh.length == len(ids)
    assert np.array_equal(read(model, [7, 8, 9], cache, 1), read(model, [7, 8, 9], fresh))
