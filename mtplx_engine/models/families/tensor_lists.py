"""Which tensors an architecture has. Imports no mlx: it is asked before any load."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mtplx_engine.models.families import (
    trunk_deepseek_v3,
    trunk_glm4_moe,
    trunk_glm4_moe_lite,
    trunk_llama,
    trunk_qwen3_5,
    trunk_qwen3_next,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.families.tensor_list import TensorList


class TensorLists(NamedTuple):
    """Those of a model, and those of its drafting head."""

    trunk: TensorList
    head: TensorList


_DEEPSEEK_V3 = TensorLists(trunk_deepseek_v3.TRUNK, trunk_deepseek_v3.HEAD)
_QWEN3_5 = TensorLists(trunk_qwen3_5.TRUNK, trunk_qwen3_5.HEAD)

LISTS: Mapping[str, TensorLists] = {
    "deepseek_v3": _DEEPSEEK_V3,
    "glm4_moe": TensorLists(trunk_glm4_moe.TRUNK, trunk_glm4_moe.HEAD),
    "glm4_moe_lite": TensorLists(trunk_glm4_moe_lite.TRUNK, trunk_glm4_moe_lite.HEAD),
    "kimi_k2": _DEEPSEEK_V3,
    "llama": TensorLists(trunk_llama.TRUNK, trunk_llama.HEAD),
    "qwen3_5": _QWEN3_5,
    "qwen3_5_moe": _QWEN3_5,
    "qwen3_next": TensorLists(trunk_qwen3_next.TRUNK, trunk_qwen3_next.HEAD),
}
"""By config.json's `model_type`; those of `supported.SUPPORTED`."""
