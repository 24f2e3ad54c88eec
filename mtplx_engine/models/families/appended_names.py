"""The names of tensors in a head that is one more decoder layer, and where such a layer begins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping


_Tensor = TypeVar("_Tensor")  # an mlx array, or what stands for one where mlx is not imported

# Head-only repositories put all below `model.` and say `mtp_block`, `shared_head_norm` and `lm_head`.
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
    """Return the tensors of a head by its own names, without those that it borrows from its target."""
    named = ((own_name(name), array) for name, array in raw.items())
    return {name: array for name, array in named if name is not None}


def own_name(name: str) -> str | None:
    """Return what a head calls the tensor that a file calls `name`, None when it borrows it from its target."""
    for pattern, replacement in _RENAMED:
        name = pattern.sub(replacement, name)
    return None if _REPEATED.match(name) else name


def is_repeated(name: str, architecture: str) -> bool:
    """Whether a head of an architecture borrows the tensor that a file calls `name` from its target."""
    return architecture in _ARCHITECTURES and own_name(name) is None


def without_head(weights: Mapping[str, _Tensor], layers: int) -> dict[str, _Tensor]:
    """Return the tensors of a trunk with so many layers, without those of the head behind it.

    Raises:
        ValueError: There is a second head; it would be dropped without a word.
    """
    found = {name: re.match(r"model\.layers\.(\d+)\.", name) for name in weights}
    numbers = {name: int(match[1]) for name, match in found.items() if match}
    if max(numbers.values(), default=0) > layers:
        raise ValueError(f"more than one layer behind the {layers} of the trunk")
    return {name: array for name, array in weights.items() if numbers.get(name, 0) < layers}
