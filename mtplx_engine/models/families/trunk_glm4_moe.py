"""GLM-4.5, 4.6 and 4.7, trunk and head, as lists of tensors. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.families import appended_shapes
from mtplx_engine.models.families.appended_names import own_name
from mtplx_engine.models.families.appended_shapes import NEVER_PACKED, grouped_attention
from mtplx_engine.models.families.shapes import Shapes, Sizes
from mtplx_engine.models.families.tensor_list import TensorList, as_it_is
from mtplx_engine.models.published import numbered_experts

if TYPE_CHECKING:
    from collections.abc import Mapping

_LAYOUTS = (numbered_experts,)


def _trunk(config: Mapping[str, Any]) -> Shapes:
    return appended_shapes.trunk(Sizes(config, {}), grouped_attention, every=1)


def _head(config: Mapping[str, Any]) -> Shapes:
    return appended_shapes.head(Sizes(config, {}), grouped_attention, every=1)


TRUNK = TensorList(_trunk, as_it_is, _LAYOUTS, NEVER_PACKED)
HEAD = TensorList(_head, lambda name, _: own_name(name), _LAYOUTS, NEVER_PACKED)
