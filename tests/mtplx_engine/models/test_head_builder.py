"""Heads come packed in every way that mlx packs; what cannot be right is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import KVCache

from mtplx_engine import backend
from mtplx_engine.models import config_checks, head_builder
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.manifest import Concat, Norms, Wiring
from tests.support.checkpoints import hybrid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.family import MTPHead


TINY = hybrid.QWEN3_5
CONFIG = config_checks.flat_config(dict(TINY.config))
HEAD = TINY.head(TINY.converted())
QUERIES = "layers.0.self_attn.q_proj"


def build(raw: Mapping[str, mx.array], **wiring: Any) -> MTPHead:
    return head_builder.build_head(family_for(CONFIG), CONFIG, raw, Wiring(**wiring), backend.policy())


def outputs(head: MTPHead) -> np.ndarray:
    generator = np.random.default_rng(4)
    embedded, hidden = (mx.array(generator.normal(0, 1, (5, 64)), mx.float32) for _ in range(2))
    return np.array(head(head.inputs(embedded, hidden), KVCache()))


def packed(**settings: Any) -> tuple[dict[str, mx.array], dict[str, mx.array]]:
    """Return the head with its matrices packed, and the same numbers unpacked."""
    small, plain = dict(HEAD), dict(HEAD)
    for name, array in HEAD.items():
        if array.ndim == 2:
            parts = mx.quantize(array, **settings)
            names = (name, name.replace(".weight", ".scales"), name.replace(".weight", ".biases"))
            small |= dict(zip(names, parts, strict=False))
            plain[name] = mx.dequantize(*parts, **settings, dtype=mx.float32)
    return small, plain


@pytest.mark.parametrize(
    ("bits", "group_size", "mode"),
    [
        *((bits, group, "affine") for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64)),
        (4, 16, "nvfp4"),
        (4, 32, "mxfp4"),
        (8, 32, "mxfp8"),
    ],
)
def test_a_packed_head_computes_what_its_unpacked_twin_does(bits: int, group_size: int, mode: str) -> None:
    small, plain = packed(bits=bits, group_size=group_size, mode=mode)
    np.testing.assert_array_equal(outputs(build(small)), outputs(build(plain)))


@pytest.mark.parametrize(
    "change",
    [
        {f"{QUERIES}.biases": mx.zeros((128, 2), mx.float16)},
        {f"{QUERIES}.biases": mx.zeros((128, 1))},
        {f"{QUERIES}.scales": mx.zeros((128, 2), mx.uint8)},
        {f"{QUERIES}.scales": mx.zeros((128, 3))},
        {f"{QUERIES}.scales": mx.zeros((127, 2))},
        {f"{QUERIES}.scales": mx.zeros((128, 0)), f"{QUERIES}.biases": mx.zeros((128, 0))},
        {f"{QUERIES}.scales": mx.array(1.0)},
        {f"{QUERIES}.weight": mx.zeros((128, 8))},
        {f"{QUERIES}.weight": mx.zeros((128, 7), mx.uint32)},
        {f"{QUERIES}.weight": mx.zeros((128, 2), mx.uint32)},
        {f"{QUERIES}.weight": mx.array(1, mx.uint32)},
    ],
    ids=str,
)
def test_arrays_that_do_not_belong_together_are_named(change: dict[str, mx.array]) -> None:
    small, _ = packed(bits=4, group_size=32, mode="affine")
    with pytest.raises(head_builder.HeadMismatchError, match=QUERIES):
        build(small | change)


def test_every_gain_and_nothing_else_is_lifted_by_one() -> None:
    lowered = {name: array - 1 if "norm" in name else array for name, array in HEAD.items()}
    assert sum(array.ndim == 1 for array in HEAD.values()) == 7
    np.testing.assert_array_equal(outputs(build(lowered, norms=Norms.PLUS_ONE)), outputs(build(HEAD)))
    assert abs(outputs(build(HEAD, norms=Norms.PLUS_ONE)) - outputs(build(HEAD))).max() > 0.1


def test_the_halves_may_be_joined_the_other_way_round() -> None:
    embedding, hidden = mx.split(HEAD["fc.weight"], 2, axis=1)
    swapped = HEAD | {"fc.weight": mx.concatenate([hidden, embedding], axis=1)}
    other = outputs(build(swapped, concat=Concat.HIDDEN_FIRST))
    np.testing.assert_allclose(other, outputs(build(HEAD)), atol=1e-5)
    assert abs(outputs(build(swapped)) - other).max() > 0.1
