"""V(M): what verifying M tokens at once costs, and what it may cost before drafting loses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from app.dashboard.charts.axis import Axis, round_ticks
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Area,
    Curve,
    Dot,
    Drawing,
    Form,
    Ink,
    Room,
    Shape,
    Spot,
    Stroke,
    Words,
)
from app.dashboard.charts.figure_table import FigureTable
from app.dashboard.charts.level_axis import upright_scale, words_below
from app.dashboard.charts.unit import Unit
from app.translate import tr
from mtplx_engine.measurement import FEW_STEPS, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.measurement import VerifyCurve

_HEIGHT = 236
_TICKS = 4
_LOOKS = (
    (Ink.DRAFTED, Stroke.SOLID, Form.ROUND),
    (Ink.PLAIN, Stroke.DASHED, Form.SQUARE),
)


@dataclass(frozen=True, slots=True)
class CostCurve:
    """The cost with so many tokens in the cache.

    Attributes:
        context: Tokens in the cache.
        costs: Of verifying 1, 2, ... tokens, in forwards over one.
    """

    context: int
    costs: tuple[float, ...]

    @classmethod
    def of(cls, curve: VerifyCurve) -> CostCurve:
        """Return what was measured in seconds in relation to one token."""
        return cls(curve.context, tuple(seconds / curve.seconds[0] for seconds in curve.seconds))


@dataclass(frozen=True, slots=True)
class CostCurves:
    """At most two curves, and the line below which they must stay.

    Attributes:
        curves: One for each length of context.
        may_cost: What verifying 1, 2, ... tokens may cost, in forwards over one; () when nothing was drafted.
        verify_steps: The sample behind that.
    """

    curves: tuple[CostCurve, ...]
    may_cost: tuple[float, ...] = ()
    verify_steps: int = 0

    @classmethod
    def of(cls, curves: Sequence[VerifyCurve], accepted_at: Sequence[int], verify_steps: int) -> CostCurves:
        """Put measured curves and the acceptance of now into relation; drafting is taken where it costs most."""
        drafts = [curve.draft_s / curve.seconds[0] for curve in curves if curve.draft_s is not None]
        shown = tuple(CostCurve.of(curve) for curve in curves)
        line = break_even(accepted_at, verify_steps, max(drafts)) if drafts and verify_steps else ()
        return cls(shown, line, verify_steps)

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if self.curves else tr("The cost of verifying has not been measured yet.")

    @property
    def height(self) -> int:
        """The same for all curves."""
        return _HEIGHT

    def table(self) -> FigureTable:
        """Return a row for each number of tokens."""
        head = (tr("tokens verified"), *(self._name(curve) for curve in self.curves), tr("break-even"))
        rows = (
            (str(count), *(_cost(curve.costs, count) for curve in self.curves), _cost(self.may_cost, count))
            for count in range(1, self._most + 1)
        )
        return FigureTable(head, tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw the scale, the region in which drafting pays, and the curves with their names at their ends."""
        values = [cost for curve in self.curves for cost in curve.costs] + list(self.may_cost[: self._most])
        ticks = round_ticks(min(1.0, *values), max(values), _TICKS)
        left = room.widest(tuple(Unit.TIMES.tick(tick) for tick in ticks)) + GAP
        names = tuple(self._name(curve) for curve in self.curves)
        right = max(left + 2 * GAP, room.width - room.widest(names) - 2 * GAP)
        bottom = room.height - LINE - 1.5 * GAP
        down = Axis(ticks[0], ticks[-1], bottom, 2 * LINE)
        across = Axis(1, max(self._most, 2), left + GAP, right)
        shapes = upright_scale(down, ticks, Unit.TIMES, left, right)
        shapes += self._break_even(across, down, left)
        ends = []
        for curve, (ink, stroke, form) in zip(self.curves, _LOOKS, strict=False):
            points = _points(across, down, curve.costs)
            shapes.append(Curve(points, ink, stroke))
            shapes += [Dot(x, y, ink, form) for x, y in points]
            ends.append((points[-1][1], self._name(curve)))
        shapes += _names(ends, right + 1.5 * GAP)
        counts = range(1, self._most + 1)
        below = [(across.at(count), tr("1 token") if count == 1 else str(count)) for count in counts]
        shapes += words_below(room, below, bottom + GAP)
        return Drawing(tuple(shapes), tuple(self._spot(count, across, down, room) for count in counts))

    def _break_even(self, across: Axis, down: Axis, left: float) -> list[Shape]:
        """Draw the line, what lies below it, and on top what it is."""
        if not self.may_cost:
            return []
        points = _points(across, down, self.may_cost[: self._most])
        below = ((points[0][0], down.start), *points, (points[-1][0], down.start))
        sample = ((left, LINE / 2), (left + 3 * GAP, LINE / 2))
        few = self.verify_steps < FEW_STEPS
        pattern = (
            tr("drafting pays below (known of only {count} steps)") if few else tr("drafting pays below")
        )
        words = pattern.format(count=self.verify_steps)
        return [
            Area(below, Ink.TRACK if few else Ink.BAND),
            Curve(points, Ink.SECONDARY, Stroke.DOTTED),
            Curve(sample, Ink.SECONDARY, Stroke.DOTTED),
            Words(left + 4 * GAP, LINE / 2, words, Ink.TERTIARY if few else Ink.SECONDARY),
        ]

    @property
    def _most(self) -> int:
        return max((len(curve.costs) for curve in self.curves), default=0)

    def _name(self, curve: CostCurve) -> str:
        return tr("after {count} tokens").format(count=f"{curve.context:,}")

    def _spot(self, count: int, across: Axis, down: Axis, room: Room) -> Spot:
        half = (across.at(2) - across.at(1)) / 2
        x = across.at(count)
        known = [curve for curve in self.curves if len(curve.costs) >= count]
        lines = [tr("1 token") if count == 1 else tr("{count} tokens").format(count=count)]
        lines += [f"{self._name(curve)}: {_cost(curve.costs, count)}" for curve in known]
        if 1 < count <= len(self.may_cost):
            lines.append(tr("may cost {cost}").format(cost=_cost(self.may_cost, count)))
        top = max(curve.costs[count - 1] for curve in known)
        return Spot(x - half, 0, 2 * half, room.height, (x, down.at(top)), "\n".join(lines))


def break_even(accepted_at: Sequence[int], verify_steps: int, draft_share: float) -> tuple[float, ...]:
    """Return what verifying 1, 2, ... tokens may cost at most before drafting loses.

    A step over M tokens yields 1 + p_1 + ... + p_(M-1) tokens on average, p_i the acceptance at position i, and plain
    decoding takes a forward for each. What is left of that after M - 1 drafts may go into verifying. It ends where
    nothing is known of the acceptance.

    Args:
        accepted_at: Accepted at draft position 1, 2, ....
        verify_steps: Out of how many steps, more than none.
        draft_share: What one draft costs, in forwards over one token.
    """
    shares = (count / verify_steps for count in accepted_at)
    lengths = accumulate(shares, initial=1.0)
    return tuple(length - drafts * draft_share for drafts, length in enumerate(lengths))


def _points(across: Axis, down: Axis, costs: Sequence[float]) -> tuple[tuple[float, float], ...]:
    return tuple((across.at(count), down.at(cost)) for count, cost in enumerate(costs, 1))


def _cost(costs: Sequence[float], count: int) -> str:
    return times(costs[count - 1]) if len(costs) >= count else ""


def _names(ends: list[tuple[float, str]], left: float) -> list[Shape]:
    """Put each name beside the end of its curve, the lower ones so far down that none touches another."""
    shapes: list[Shape] = []
    free = 0.0
    for y, name in sorted(ends):
        middle = max(y, free)
        free = middle + LINE
        shapes.append(Words(left, middle, name))
    return shapes
