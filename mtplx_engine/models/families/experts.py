"""Experts as mlx-lm holds them, one array for each projection, from the layouts in which they are published."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import mlx.core as mx

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERED = re.compile(r"^(.*mlp\.)experts\.(\d+)\.((?:gate|up|down)_proj\.\w+)$")
_FUSED = re.compile(r"^(.*mlp\.)experts\.(gate_up|down)_proj$")


def stacked(weights: Mapping[str, mx.array], count: int) -> dict[str, mx.array]:
    """Return tensors with numbered experts stacked to `switch_mlp` and fused ones split.

    Args:
        weights: Tensors by name; others than experts stay as they are.
        count: How many experts a layer has.

    Raises:
        ValueError: An expert is missing or unknown, has another shape or dtype than the first, or a fused array
            cannot be split; the text names it.
    """
    result: dict[str, mx.array] = {}
    numbered: dict[tuple[str, str], dict[int, str]] = {}
    for name, array in weights.items():
        if match := _NUMBERED.match(name):
            numbered.setdefault((match[1], match[3]), {})[int(match[2])] = name
        elif match := _FUSED.match(name):
            if array.ndim != 3 or array.shape[1] % 2:
                raise ValueError(
                    f"{name} has the shape {list(array.shape)} instead of three dimensions, the second one even"
                )
            result |= _split(match[1], match[2], array)
        else:
            result[name] = array
    for (prefix, projection), names in numbered.items():
        _check(names, count, weights)
        result[f"{prefix}switch_mlp.{projection}"] = mx.stack(
            [weights[names[number]] for number in range(count)]
        )
    return result


def _split(prefix: str, projection: str, array: mx.array) -> dict[str, mx.array]:
    """Name a fused array [E, rows, columns]; gate and up lie one after the other in one of them."""
    if projection == "down":
        return {f"{prefix}switch_mlp.down_proj.weight": array}
    gate, up = mx.split(array, 2, axis=-2)
    return {f"{prefix}switch_mlp.gate_proj.weight": gate, f"{prefix}switch_mlp.up_proj.weight": up}


def _check(names: Mapping[int, str], count: int, weights: Mapping[str, mx.array]) -> None:
    """Check that experts 0 to `count` - 1 and no others are there and alike.

    Raises:
        ValueError: They are not; the text names one.
    """
    some = min(names)
    missing = next((number for number in range(count) if number not in names), None)
    if missing is not None:
        raise ValueError(f"{_numbered(names[some], some, missing)} is missing")
    if unknown := sorted(names.keys() - range(count)):
        raise ValueError(f"{names[unknown[0]]} is unknown, there are {count} experts")
    first = weights[names[0]]
    for name in names.values():
        if weights[name].shape != first.shape or weights[name].dtype != first.dtype:
            raise ValueError(
                f"{name} has the shape {list(weights[name].shape)}, but the first expert has {list(first.shape)}"
            )


def _numbered(name: str, number: int, other: int) -> str:
    return name.replace(f".experts.{number}.", f".experts.{other}.")
