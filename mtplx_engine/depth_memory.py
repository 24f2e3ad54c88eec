"""Depth figures kept between starts, by everything that they depend on: model, drafter and machine."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from mtplx_engine.depth_figures import Figures
from mtplx_engine.json_store import JsonStore

if TYPE_CHECKING:
    from pathlib import Path

NAME = "depths.json"
FORMAT = 1


class DepthMemory:
    """The figures of one loaded model.

    Args:
        data: The data folder; it may not exist yet.
        speed_key: Stands for its files and the machine, see `identity.speed_key`.
    """

    def __init__(self, data: Path, speed_key: str) -> None:
        self._results = JsonStore(data / NAME, FORMAT)
        self._speed_key = speed_key

    def recall(self, drafter: str) -> Figures | None:
        """Return what was measured with a drafter, None where nothing usable is kept."""
        entry = self._results.get(self._key(drafter))
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, drafter: str, figures: Figures) -> None:
        """Keep what was measured with a drafter."""
        self._results.put(self._key(drafter), dataclasses.asdict(figures))

    def _key(self, drafter: str) -> str:
        return f"{self._speed_key} {drafter}"


def _parse(entry: dict[str, Any]) -> Figures:
    costs = tuple(None if cost is None else _number(cost, above=0.0) for cost in entry["costs"])
    offered = tuple(_number(count) for count in entry["offered"])
    accepted = tuple(
        min(_number(count), most) for count, most in zip(entry["accepted"], offered, strict=True)
    )
    best = entry["best"]
    if not isinstance(best, int) or best < 0:
        raise ValueError("no depth")
    return Figures(best, costs, accepted, offered)


def _number(value: float, above: float = -1.0) -> float:
    number = float(value)
    if not (math.isfinite(number) and number >= 0 and number > above):
        raise ValueError("no count or time")
    return number
