"""What two versions of a paragraph share at the start, so that only the rest is written again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.render.blocks import Mark
from app.render.units import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.render.blocks import Run


def difference(old: Sequence[Run], new: Sequence[Run]) -> tuple[int, int, list[Run]]:
    """Return what two rows of runs share at the start, in UTF-16 units and in runs, and what `new` has behind it."""
    kept = 0
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before == after:
            kept += before.length
            continue
        if (before.marks, before.href) != (after.marks, after.href) or after.marks & (Mark.MATH | Mark.CODE):
            return kept, index, list(new[index:])
        shared = len(_common_prefix(before.text, after.text))
        kept += units(after.text[:shared])
        return kept, index, [replace(after, text=after.text[shared:]), *new[index + 1 :]]
    return kept, min(len(old), len(new)), list(new[len(old) :])


def _common_prefix(one: str, other: str) -> str:
    if other.startswith(one):
        return one
    length = min(len(one), len(other))
    same = next((at for at in range(length) if one[at] != other[at]), length)
    return one[:same]
