"""Which family an architecture belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import (
    deepseek_v3,
    glm4_moe,
    glm4_moe_lite,
    llama,
    plain,
    qwen3_5,
    qwen3_next,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.family import Family

FAMILIES: Mapping[str, Family] = {
    "deepseek_v3": deepseek_v3.FAMILY,
    "gemma4": plain.GEMMA4,
    "gemma4_text": plain.GEMMA4_TEXT,
    "glm4_moe": glm4_moe.FAMILY,
    "glm4_moe_lite": glm4_moe_lite.FAMILY,
    "llama": llama,
    "mimo": plain.MIMO,
    "mimo_v2_flash": plain.MIMO_V2_FLASH,
    "qwen3_5": qwen3_5.FAMILY,
    "qwen3_5_moe": qwen3_5.FAMILY,
    "qwen3_next": qwen3_next.FAMILY,
    "step3p5": plain.STEP3P5,
}
"""By config.json's `model_type`; exactly those that `supported` lists."""


def family_for(config: Mapping[str, Any]) -> Family:
    """Return the family of a model with this config.json."""
    return FAMILIES[config["model_type"]]
