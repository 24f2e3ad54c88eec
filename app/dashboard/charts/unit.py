"""What the values of a chart are, and how they are written."""

from __future__ import annotations

from enum import Enum, auto

from app.chat.meters import speed
from app.translate import tr
from mtplx_engine.measurement import times
from mtplx_engine.words import percent


class Unit(Enum):
    """A kind of value."""

    SPEED = auto()  # tokens per second
    TIMES = auto()  # as fast as plain decoding
    SHARE = auto()  # 0..1
    PER_STEP = auto()  # tokens per verify step
    SECONDS = auto()

    def words(self, value: float) -> str:
        """Return a value with its unit, as in "133 tok/s"."""
        return _PATTERNS[self]().format(self._figure(value))

    def span(self, low: float, high: float) -> str:
        """Return a range with its unit, as in "130–136 tok/s"."""
        return _PATTERNS[self]().format(f"{self._figure(low)}–{self._figure(high)}")

    def tick(self, value: float) -> str:
        """Return a round value at an axis, as short as it can be."""
        if self is Unit.SHARE:
            return percent(value)
        figure = f"{value:,.12g}"
        return f"{figure}x" if self is Unit.TIMES else figure

    def _figure(self, value: float) -> str:
        if self is Unit.SHARE:
            return share_words(value).removesuffix(" %")
        if self is Unit.TIMES:
            return times(value).removesuffix("x")
        return speed(value) if self is Unit.SPEED else f"{value:,.1f}"


def share_words(share: float) -> str:
    """Return a share of 0..1 as in "71 %"; one that is not quite none or all does not look so."""
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1 else percent(share)


# Asked for when they are written, for translations are installed at start-up.
_PATTERNS = {
    Unit.SPEED: lambda: tr("{} tok/s"),
    Unit.TIMES: lambda: tr("{}x"),
    Unit.SHARE: lambda: tr("{} %"),
    Unit.PER_STEP: lambda: tr("{} per step"),
    Unit.SECONDS: lambda: tr("{} s"),
}
