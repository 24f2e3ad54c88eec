"""Values along an edge of a chart: where they are, and which of them are labelled."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ROUND = (1, 2, 5, 10)
_SLACK = 1e-9  # of a step; a value this near to a tick is on it


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight mapping of values to pixels; upwards where `end` is less than `start`.

    Attributes:
        low: The value at `start`.
        high: The value at `end`, more than `low`.
        start: Pixels.
        end: Pixels.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value is, in pixels; what lies outside is moved to the end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


def _round_step(span: float, most: int) -> tuple[int, int]:
    """Return the smallest step that goes at most `most` times into `span`, as (1 | 2 | 5 | 10, power of ten)."""
    raw = span / most
    power = math.floor(math.log10(raw))
    digit = next((digit for digit in _ROUND if digit * _scale(power) >= raw * (1 - _SLACK)), _ROUND[-1])
    return digit, power


def round_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return at most `most + 2` round values, at equal distances, the first and the last of which hold the range.

    Args:
        low: The least value that is shown.
        high: The greatest; where it is not more than `low`, the ticks reach a little further.
        most: Steps between the values of the range.
    """
    if high <= low:
        high = low + (abs(low) or 1.0)
    digit, power = _round_step(high - low, most)
    step = digit * _scale(power)
    first, last = math.floor(low / step + _SLACK), math.ceil(high / step - _SLACK)
    return tuple(_multiple(index * digit, power) for index in range(first, last + 1))


def _scale(power: int) -> float:
    return float(10**power) if power >= 0 else 1 / 10**-power


def _multiple(count: int, power: int) -> float:
    """Return count * 10^power as the float that is written so: 3 * 0.1 would not be 0.3."""
    return float(count * 10**power) if power >= 0 else count / 10**-power
