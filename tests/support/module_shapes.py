"""The tensors of models and drafting heads, by name and shape, as mlx-lm's classes and ours make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models import config_checks, weights
from mtplx_engine.models.families.registry import family_for, trunk_for
from mtplx_engine.models.manifest import Wiring

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlx import nn

    Shapes = dict[str, tuple[int, ...]]


def trunk(config: Mapping[str, Any]) -> Shapes:
    model, arguments = trunk_for(config).model_classes(config)
    return _of(model(arguments.from_dict(config)))


def head(config: Mapping[str, Any]) -> Shapes:
    flat = config_checks.flat_config(dict(config))
    return _of(family_for(flat).new_head(flat, Wiring()))


def _of(module: nn.Module) -> Shapes:
    return {name: array.shape for name, array in weights.parameters(module).items()}
