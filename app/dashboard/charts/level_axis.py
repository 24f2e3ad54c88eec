"""Round values written at the edges of a chart, with a faint line through it at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.dashboard.charts.drawing import GAP, LINE, Align, Ink, Rule, Shape, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.dashboard.charts.axis import Axis
    from app.dashboard.charts.drawing import Room
    from app.dashboard.charts.unit import Unit


def upright_scale(axis: Axis, ticks: Sequence[float], unit: Unit, left: float, right: float) -> list[Shape]:
    """Draw level lines from `left` to `right`, with their values to the left of them."""
    shapes: list[Shape] = []
    for tick in ticks:
        y = axis.at(tick)
        shapes.append(Rule(left, y, right, y, Ink.GRID))
        shapes.append(Words(left - GAP, y, unit.tick(tick), Ink.TERTIARY, Align.RIGHT))
    return shapes


def words_below(room: Room, places: Sequence[tuple[float, str]], top: float) -> list[Shape]:
    """Write words centred below places, moved inwards at the ends; what would touch what is there is left out."""
    shapes: list[Shape] = []
    taken: list[tuple[float, float]] = []
    for x, text in places:
        half = room.text_width(text) / 2
        middle = min(max(x, half), room.width - half)
        if any(middle - half < right + GAP and left - GAP < middle + half for left, right in taken):
            continue
        taken.append((middle - half, middle + half))
        shapes.append(Words(middle, top + LINE / 2, text, Ink.TERTIARY, Align.CENTRE))
    return shapes
