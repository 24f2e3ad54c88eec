"""Which family an architecture belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import deepseek_v3, glm4_moe, glm4_moe_lite, llama, qwen3_5, qwen3_next

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.family import Family, Trunk


FAMILIES: Mapping[str, Family] = {
    "deepseek_v3": deepseek_v3.FAMILY,
    "glm4_moe": glm4_moe.FAMILY,
    "glm4_moe_lite": glm4_moe_lite.FAMILY,
    "kimi_k2": deepseek_v3.FAMILY,
    "llama": llama,
    "qwen3_5": qwen3_5.FAMILY,
    "qwen3_5_moe": qwen3_5.FAMILY,
    "qwen3_next": qwen3_next.FAMILY,
}
"""By config.json's `model_type`; exactly those of `supported.SUPPORTED`."""

PLAIN: Mapping[str, Trunk] = {
    "deepseek_v32": llama.DEEPSEEK_V32,
    "gemma4": llama.GEMMA4,
    "gemma4_text": llama.GEMMA4_TEXT,
    "glm_moe_dsa": llama.GLM_MOE_DSA,
    "mimo": llama.MIMO,
    "mimo_v2_flash": llama.MIMO_V2_FLASH,
    "nemotron_h": llama.NEMOTRON_H,
    "step3p5": llama.STEP3P5,
}
"""By the same; exactly those of `supported.PLAIN_ONLY`."""


def trunk_for(config: Mapping[str, Any]) -> Trunk:
    """Return how to decode plainly with a model with this config.json."""
    return FAMILIES.get(config["model_type"]) or PLAIN[config["model_type"]]


def family_for(config: Mapping[str, Any]) -> Family:
    """Return the family of a model with this config.json, not one of `PLAIN`."""
    return FAMILIES[config["model_type"]]
