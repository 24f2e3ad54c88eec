"""The lists of tensors are those of mlx-lm's models, and what it loads is what passes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from mlx_lm.models import deepseek_v3, glm4_moe_lite, llama, qwen3_5, qwen3_next
from mlx_lm.utils import load_model

from mtplx_engine.models import completeness, model_config, safetensors_header
from mtplx_engine.models.families import (
    trunk_deepseek_v3,
    trunk_glm4_moe_lite,
    trunk_llama,
    trunk_qwen3_5,
    trunk_qwen3_next,
)
from mtplx_engine.models.families.registry import FAMILIES, family_for
from mtplx_engine.models.families.tensor_lists import LISTS
from mtplx_engine.models.wiring import Wiring
from tests.support.checkpoints import shards
from tests.support.checkpoints.layouts import CONFIGS, EVERY, parameters, trunk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mlx import nn

    from tests.support.checkpoints.layouts import Layout

LATENT = [
    {"q_lora_rank": None},
    {"attention_bias": True},
    {"n_routed_experts": None},
    {"n_shared_experts": None},
    {"first_k_dense_replace": 0},
    {"moe_layer_freq": 2, "num_hidden_layers": 4},
]
NESTED = [
    {"tie_word_embeddings": True},
    {"attention_bias": True},
    {"head_dim": None},
    {"full_attention_interval": 1},
    {"num_hidden_layers": 5},
]
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "llama": [
        {"tie_word_embeddings": False},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"head_dim": 32, "num_key_value_heads": None},
        {"layer_types": ["sliding_attention", "full_attention", "full_attention"], "sliding_window": 8},
    ],
    "qwen3_next": [
        {"tie_word_embeddings": True},
        {"attention_bias": True},
        {"mlp_only_layers": [1, 2]},
        {"decoder_sparse_step": 2},
        {"num_experts": 0},
    ],
    "qwen3_5": NESTED,
    "qwen3_5_moe": NESTED,
    "deepseek_v3": LATENT,
    "glm4_moe_lite": LATENT,
    "glm4_moe": [
        {"use_qk_norm": False},
        {"attention_bias": False},
        {"n_routed_experts": None},
        {"n_shared_experts": None},
        {"first_k_dense_replace": 0, "moe_layer_freq": 2},
    ],
}


def change(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings of the language model."""
    if "text_config" in config:
        return {**config, "text_config": {**config["text_config"], **changes}}
    return {**config, **changes}


def shapes_of(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in parameters(module).items()}


@pytest.mark.parametrize(
    ("name", "changes"),
    [(name, changes) for name in CONFIGS for changes in ({}, *VARIANTS[name])],
    ids=str,
)
def test_trunk_and_head_have_the_tensors_that_mlx_lm_makes(name: str, changes: dict[str, Any]) -> None:
    config = change(CONFIGS[name], changes)
    flat = model_config.flat(config)
    assert LISTS[name].trunk.shapes(config) == shapes_of(trunk_of(config))
    assert LISTS[name].head.shapes(flat) == shapes_of(family_for(flat).new_head(flat, Wiring()))


def test_there_is_a_list_for_every_family() -> None:
    assert LISTS.keys() == FAMILIES.keys()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (trunk_deepseek_v3.DEFAULTS, deepseek_v3.ModelArgs),
        (trunk_glm4_moe_lite.DEFAULTS, glm4_moe_lite.ModelArgs),
        (trunk_llama.DEFAULTS, llama.ModelArgs),
        (trunk_qwen3_5.DEFAULTS, qwen3_5.TextModelArgs),
        (trunk_qwen3_next.DEFAULTS, qwen3_next.ModelArgs),
    ],
)
def test_numbers_that_are_not_said_are_those_of_mlx_lm(ours: Mapping[str, Any], theirs: type) -> None:
    defaults = {field.name: field.default for field in dataclasses.fields(theirs)}
    assert ours == {name: defaults[name] for name in ours}


@pytest.mark.parametrize(("make", "name"), EVERY, ids=[f"{make.__name__}-{name}" for make, name in EVERY])
def test_what_mlx_lm_loads_passes(make: Callable[[str], Layout], name: str, tmp_path: Path) -> None:
    layout = make(name)
    shards.write(tmp_path, layout.config, layout.tensors)
    family = family_for(layout.config)
    load_model(tmp_path, lazy=True, get_model_classes=family.model_classes)
    read: dict[str, Any] = {}
    for path in tmp_path.glob("model*.safetensors"):
        read |= safetensors_header.read(path)
    assert completeness.check_trunk(tmp_path, layout.config, read) == ""
