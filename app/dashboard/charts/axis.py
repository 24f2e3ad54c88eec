"""Axes, round ticks, and units of values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from app.chat.metrics import speed
from app.dashboard.charts.drawing import GAP, LINE, Align, Ink, Rule, Shape, Text
from app.i18n import tr
from mtplx_engine.measure.measurement import times
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.dashboard.charts.drawing import Canvas


_ROUND = (1, 2, 5, 10)
_SLACK = 1e-9  # of a step; a value this near to a tick is on it


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear mapping of `low` < `high` to the pixels `start` and `end`; upwards where `end` is less than `start`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value, in pixels; values outside are clamped."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


def _round_step(span: float, most: int) -> tuple[int, int]:
    """Return the smallest step that goes at most `most` times into `span`, as (1 | 2 | 5 | 10, power of ten)."""
    raw = span / most
    power = math.floor(math.log10(raw))
    digit = next((digit for digit in _ROUND if digit * _scale(power) >= raw * (1 - _SLACK)), _ROUND[-1])
    return digit, power


def round_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return at most `most + 2` round values at equal distances that enclose the range, which may be empty."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    digit, power = _round_step(high - low, most)
    step = digit * _scale(power)
    first, last = math.floor(low / step + _SLACK), math.ceil(high / step - _SLACK)
    return tuple(_multiple(index * digit, power) for index in range(first, last + 1))


def _scale(power: int) -> float:
    return float(10**power) if power >= 0 else 1 / 10**-power


def _multiple(count: int, power: int) -> float:
    # Divided where the power is negative, since 3 * 0.1 would not be 0.3.
    return float(count * 10**power) if power >= 0 else count / 10**-power


def upright_scale(axis: Axis, ticks: Sequence[float], unit: Unit, left: float, right: float) -> list[Shape]:
    """Draw horizontal grid lines from `left` to `right`, with their values to the left of them."""
    shapes: list[Shape] = []
    for tick in ticks:
        y = axis.at(tick)
        shapes.append(Rule(left, y, right, y, Ink.GRID))
        shapes.append(Text(left - GAP, y, unit.tick(tick), Ink.TERTIARY, Align.RIGHT))
    return shapes


def labels_below(canvas: Canvas, labels: Sequence[tuple[float, str]], top: float) -> list[Shape]:
    """Write labels centred at their x, moved inwards at the ends; one that would touch an earlier one is left out."""
    shapes: list[Shape] = []
    taken: list[tuple[float, float]] = []
    for x, text in labels:
        half = canvas.text_width(text) / 2
        middle = min(max(x, half), canvas.width - half)
        if any(middle - half < right + GAP and left - GAP < middle + half for left, right in taken):
            continue
        taken.append((middle - half, middle + half))
        shapes.append(Text(middle, top + LINE / 2, text, Ink.TERTIARY, Align.CENTRE))
    return shapes


class Unit(Enum):
    """A unit of values."""

    SPEED = auto()  # tokens per second
    TIMES = auto()  # as fast as plain decoding
    SHARE = auto()  # 0..1
    PER_STEP = auto()  # tokens per verify step
    SECONDS = auto()

    def text(self, value: float) -> str:
        """Return a value with its unit, as in "133 tok/s"."""
        return _PATTERNS[self]().format(self._number(value))

    def span(self, low: float, high: float) -> str:
        """Return a range with its unit, as in "130–136 tok/s"."""
        return _PATTERNS[self]().format(f"{self._number(low)}–{self._number(high)}")

    def tick(self, value: float) -> str:
        if self is Unit.SHARE:
            return percent(value)
        number = f"{value:,.12g}"
        return f"{number}x" if self is Unit.TIMES else number

    def _number(self, value: float) -> str:
        if self is Unit.SHARE:
            return share_text(value).removesuffix(" %")
        if self is Unit.TIMES:
            return times(value).removesuffix("x")
        return speed(value) if self is Unit.SPEED else f"{value:,.1f}"


def share_text(share: float) -> str:
    """Return a share of 0..1 as in "71 %"; only 0 and 1 read "0 %" and "100 %"."""
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1 else percent(share)


# Translated when a value is written: translations are installed after this module is imported.
_PATTERNS = {
    Unit.SPEED: lambda: tr("{} tok/s"),
    Unit.TIMES: lambda: tr("{}x"),
    Unit.SHARE: lambda: tr("{} %"),
    Unit.PER_STEP: lambda: tr("{} per step"),
    Unit.SECONDS: lambda: tr("{} s"),
}
