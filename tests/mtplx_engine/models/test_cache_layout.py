"""What layers keep by their config.json is what the caches of real models, tiny ones of every family, hold."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models import deepseek_v3 as mlx_deepseek_v3
from mlx_lm.models import glm4_moe_lite as mlx_glm4_moe_lite
from mlx_lm.models import qwen3_5 as mlx_qwen3_5
from mlx_lm.models import qwen3_next as mlx_qwen3_next

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import cache_layout, checkpoint, config_checks, memory_fit
from mtplx_engine.models.cache_layout import CacheLayout, Layers
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED
from mtplx_engine.util.system import Machine
from tests.support import tiny_folder
from tests.support.checkpoints import deepseek_v3, glm4_moe, glm4_moe_lite, hybrid, plain
from tests.support.checkpoints.family_case import load, write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.target import Target


TINIES = {
    tiny.config["model_type"]: tiny
    for tiny in (
        deepseek_v3.TINY,
        glm4_moe.TINY,
        glm4_moe_lite.TINY,
        hybrid.QWEN3_5,
        hybrid.QWEN3_5_MOE,
        hybrid.QWEN3_NEXT,
    )
}
DEFAULTS = [
    (cache_layout.LATENT_DEFAULTS, mlx_deepseek_v3.ModelArgs),
    (cache_layout.LATENT_DEFAULTS, mlx_glm4_moe_lite.ModelArgs),
    (cache_layout.QWEN3_5_DEFAULTS, mlx_qwen3_5.TextModelArgs),
    (cache_layout.QWEN3_NEXT_DEFAULTS, mlx_qwen3_next.ModelArgs),
]
FAMILIES = sorted(SUPPORTED | PLAIN_ONLY.keys())


def target(name: str, folder: Path) -> Target:
    if name == "llama":
        tiny_folder.write(folder, head=False)
    elif name in plain.PLAIN:
        plain.PLAIN[name].write(folder)
    else:
        tiny = TINIES["deepseek_v3" if name == "kimi_k2" else name]
        write(folder, tiny, tiny.converted(), model_type=name)
    return load(folder).target


def held(model: Target, forwards: list[int]) -> int:
    """Return the bytes of all caches after forwards of so many tokens."""
    cache = TokenCache(model.new_layers())
    for count in forwards:
        model.forward(mx.array([5] * count, mx.int32), cache)
    return sum(array.nbytes for array in cache.arrays())


@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_what_the_caches_hold(name: str, tmp_path: Path) -> None:
    model = target(name, tmp_path)
    found = cache_layout.cache_layout_of(checkpoint.check(tmp_path).config)
    assert held(model, [300]) == 4 * found.numbers(300, 300) + found.fixed(4)
    assert 256 * found.growth == found.numbers(1500, 300) - found.numbers(1200, 300)
    assert held(model, [1]) == 4 * found.numbers(1, 1) + found.fixed(4)


def test_a_window_stops_growing(tmp_path: Path) -> None:
    model = target("step3p5", tmp_path)
    found = cache_layout.cache_layout_of(checkpoint.check(tmp_path).config)
    most = 4 * found.numbers(1280, 64)
    assert 0.7 * most < held(model, [64] * 20) <= most
    assert found.layers[1].room(10**6, 64) == found.layers[1].room(2000, 64)


def test_places_to_go_back_to_need_only_what_cannot_be_cut_off() -> None:
    full, window = Layers(4, 100), Layers(2, 10, window=128)
    assert CacheLayout((full,)).snapshot(10_000, 2) == 0
    assert CacheLayout((full, window), tail=6, state=5).snapshot(10_000, 2) == 2 * 6 + 4 * 5 + 2 * 2 * 10 * (128 + 64)
    assert CacheLayout((full, window)).snapshot(7, 2) == 2 * 2 * 10 * 7


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(
        st.one_of(st.none(), st.integers(), st.text(max_size=20), st.dictionaries(st.text(), st.none())),
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(["num_attention_groups", "num_attention_heads", "x"]), st.integers(), max_size=2),
)
CONFIGS = {name: tiny.config for name, tiny in TINIES.items()} | {n: p.config for n, p in plain.PLAIN.items()}


@given(st.sampled_from(sorted(CONFIGS)), st.data())
def test_odd_settings_are_refused_or_counted(name: str, data: st.DataObject) -> None:
    """Whatever passes the check of config.json: nothing but a refusal may come of it."""
    config = config_checks.flat_config(dict(CONFIGS[name]))
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=3)):
        config[key] = data.draw(ODD)
    here = Machine(1 << 33, 1 << 33, packed=True, chunk=512)
    try:
        config_checks.check_config(config)
        fits = [
            memory_fit.judge_fit(memory_fit.measure_footprint(config, {}, None, here), context, here)
            for context in (1, 4096)
        ]
    except EngineError as error:
        assert error.kind in (ErrorKind.REFUSED, ErrorKind.UNSUPPORTED)  # noqa: PT017 - or no error at all
    else:
        assert 0 <= fits[0].total <= fits[1].total


def test_a_published_hybrid_keeps_little_of_a_token() -> None:
    """By hand, for the sizes of a 27B: 16 of 64 layers with 4 heads of 256, 48 with states of 48 x 128 x 128."""
    config = {
        "model_type": "qwen3_5",
        "hidden_size": 5120,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_value_heads": 48,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
    }
    found = cache_layout.cache_layout_of(config)
    assert found.numbers(1024, 512) == 16 * 2 * 4 * 256 * 1024
    assert found.state * 4 == 150_994_944
    assert found.tail == 48 * 3 * (2 * 2048 + 6144)


@pytest.mark.parametrize(("ours", "theirs"), DEFAULTS)
def test_numbers_that_are_not_said_are_those_of_mlx_lm(ours: Mapping[str, Any], theirs: type) -> None:
    defaults = {field.name: field.default for field in dataclasses.fields(theirs)}
    assert ours == {name: defaults[name] for name in ours}
