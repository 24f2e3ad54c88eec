"""The family of each architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import appended, hybrid, llama
from mtplx_engine.models.families.plain import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.family import Family, Trunk


FAMILIES: Mapping[str, Family] = {
    "deepseek_v3": appended.DEEPSEEK_V3,
    "glm4_moe": appended.GLM4_MOE,
    "glm4_moe_lite": appended.GLM4_MOE_LITE,
    "kimi_k2": appended.DEEPSEEK_V3,
    "llama": llama,
    "qwen3_5": hybrid.QWEN3_5,
    "qwen3_5_moe": hybrid.QWEN3_5,
    "qwen3_next": hybrid.QWEN3_NEXT,
}
"""By config.json's `model_type`; exactly those of `supported.SUPPORTED`."""


def trunk_for(config: Mapping[str, Any]) -> Trunk:
    return FAMILIES.get(config["model_type"]) or PLAIN[config["model_type"]]


def family_for(config: Mapping[str, Any]) -> Family:
    """Return the family of a model with this config.json, not one of `PLAIN`."""
    return FAMILIES[config["model_type"]]
