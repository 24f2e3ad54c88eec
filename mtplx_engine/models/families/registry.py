"""Which family an architecture belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import llama

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.family import Family

FAMILIES: Mapping[str, Family] = {"llama": llama}
"""By config.json's `model_type`; exactly those that `supported` lists."""


def family_for(config: Mapping[str, Any]) -> Family:
    """Return the family of a model with this config.json."""
    return FAMILIES[config["model_type"]]
