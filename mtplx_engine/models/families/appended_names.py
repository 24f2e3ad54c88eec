"""Tensor names of a head that is one more decoder layer behind the trunk. Imports no mlx."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping


_Tensor = TypeVar("_Tensor")  # an mlx array, or its header entry where mlx is not imported

# Head-only repositories put all tensors below `model.`, and use `mtp_block`, `shared_head_norm` and `lm_head`.
_RENAMED = (
    (re.compile(r"^model\."), ""),
    (re.compile(r"^mtp_block\."), ""),
    (re.compile(r"^enorm\."), "pre_fc_norm_embedding."),
    (re.compile(r"^hnorm\."), "pre_fc_norm_hidden."),
    (re.compile(r"^eh_proj\."), "fc."),
    (re.compile(r"^shared_head[._]norm\."), "norm."),
    (re.compile(r"^(input_layernorm|post_attention_layernorm|self_attn|mlp)\."), r"layers.0.\1."),
)
_ARCHITECTURES = ("deepseek_v3", "glm4_moe", "glm4_moe_lite", "kimi_k2")
_REPEATED = re.compile(r"^(embed_tokens|shared_head\.head|lm_head)\.")


def in_head(raw: Mapping[str, _Tensor]) -> dict[str, _Tensor]:
    """Return the tensors of a head by its own names, without those that it shares with its target."""
    named = ((own_name(name), array) for name, array in raw.items())
    return {name: array for name, array in named if name is not None}


def own_name(name: str) -> str | None:
    """Return the head's own name for the file's tensor `name`, None when it shares the tensor with its target."""
    for pattern, replacement in _RENAMED:
        name = pattern.sub(replacement, name)
    return None if _REPEATED.match(name) else name


def is_repeated(name: str, architecture: str) -> bool:
    """Whether a head of an architecture shares the file's tensor `name` with its target."""
    return architecture in _ARCHITECTURES and own_name(name) is None
