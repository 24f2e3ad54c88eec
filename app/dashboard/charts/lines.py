"""Line charts."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate, QLocale

from app.dashboard.charts.axis import Axis, Unit, round_ticks, upright_scale, words_below
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Area,
    Box,
    Curve,
    Dot,
    DotShape,
    Drawing,
    Ink,
    Room,
    Shape,
    Spot,
    Stroke,
    Words,
)
from app.dashboard.charts.table_model import ChartTable
from app.i18n import tr
from app.storage.stats import FEWEST_QUARTILES
from mtplx_engine.measure.measurement import FEW_STEPS, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mtplx_engine.measure.measurement import VerifyCurve


_HEIGHT = 236
_TICKS = 4
_LOOKS = (
    (Ink.DRAFTED, Stroke.SOLID, DotShape.ROUND),
    (Ink.PLAIN, Stroke.DASHED, DotShape.SQUARE),
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

    def table(self) -> ChartTable:
        """Return a row for each number of tokens."""
        head = (tr("tokens verified"), *(self._name(curve) for curve in self.curves), tr("break-even"))
        rows = (
            (str(count), *(_cost(curve.costs, count) for curve in self.curves), _cost(self.may_cost, count))
            for count in range(1, self._most + 1)
        )
        return ChartTable(head, tuple(rows))

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


_MEDIANS_HEIGHT = 200
_DATE_ROOM = 72  # pixels for each date below
_DOT_ROOM = 7  # pixels that a day needs for a dot of its own
_LONE = 6  # width of the quartiles of a day without neighbours
_ONE = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayMetric:
    """The answers of one day.

    Attributes:
        day: Which one.
        lower: Their lower quartile.
        median: In their middle.
        upper: Their upper quartile.
        answers: How many they are.
    """

    day: dt.date
    lower: float
    median: float
    upper: float
    answers: int

    @property
    def few(self) -> bool:
        """Whether the answers are too few to have a middle half to speak of."""
        return self.answers < FEWEST_QUARTILES


@dataclass(frozen=True, slots=True)
class DailyMedians:
    """A point for each day with answers, and a band where there are enough of them to speak of a middle half.

    Attributes:
        days: The oldest first; days without answers are left out.
        unit: Of the values.
    """

    days: tuple[DayMetric, ...]
    unit: Unit = Unit.SPEED

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if self.days else tr("No answers yet that could be shown here.")

    @property
    def height(self) -> int:
        """The same for every history."""
        return _MEDIANS_HEIGHT

    def table(self) -> ChartTable:
        """Return a row for each day."""
        head = (tr("day"), tr("median"), tr("lower quartile"), tr("upper quartile"), tr("answers"))
        words = self.unit.words
        rows = (
            (
                day.day.isoformat(),
                words(day.median),
                *(("–", "–") if day.few else (words(day.lower), words(day.upper))),
                f"{day.answers:,}",
            )
            for day in self.days
        )
        return ChartTable(head, tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw the scale, the band and the line; where days are missing the line is dotted and the band ends."""
        base = 1.0 if self.unit in (Unit.TIMES, Unit.PER_STEP) else 0.0
        lowest = min(base, *(day.median if day.few else day.lower for day in self.days))
        highest = max(day.median if day.few else day.upper for day in self.days)
        ticks = round_ticks(lowest, highest, _TICKS)
        left = room.widest(tuple(self.unit.tick(tick) for tick in ticks)) + GAP
        bottom = room.height - LINE - 1.5 * GAP
        down = Axis(ticks[0], ticks[-1], bottom, LINE / 2)
        across = self._across(left, room.width)
        xs = [across.at(day.day.toordinal()) for day in self.days]
        shapes = upright_scale(down, ticks, self.unit, left, room.width)
        for start, end in self._banded():
            shapes += self._band(xs, down, start, end)
        shapes += self._line(xs, down)
        if (room.width - left) / len(self.days) >= _DOT_ROOM:
            shapes += [Dot(x, down.at(day.median), Ink.DRAFTED) for x, day in zip(xs, self.days, strict=True)]
        shapes += words_below(room, self._dates(across), bottom + GAP)
        return Drawing(tuple(shapes), tuple(self._spots(xs, left, down, room)))

    def _across(self, left: float, right: float) -> Axis:
        first, last = self.days[0].day.toordinal(), self.days[-1].day.toordinal()
        return Axis(first - 0.5, last + 0.5, left, right)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of days that follow each other without a gap."""
        start = 0
        for index in range(1, len(self.days) + 1):
            if index == len(self.days) or self.days[index].day - self.days[index - 1].day > _ONE:
                yield start, index - 1
                start = index

    def _banded(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of days that follow each other and all have a middle half."""
        for start, end in self._stretches():
            for few, days in groupby(range(start, end + 1), lambda index: self.days[index].few):
                indexes = list(days)
                if not few:
                    yield indexes[0], indexes[-1]

    def _band(self, xs: list[float], down: Axis, start: int, end: int) -> list[Shape]:
        days = self.days[start : end + 1]
        if start == end:
            top, bottom = down.at(days[0].upper), down.at(days[0].lower)
            return [Box(xs[start] - _LONE / 2, top, _LONE, bottom - top, Ink.BAND)]
        upper = [(x, down.at(day.upper)) for x, day in zip(xs[start:], days, strict=False)]
        lower = [(x, down.at(day.lower)) for x, day in zip(xs[start:], days, strict=False)]
        return [Area((*upper, *reversed(lower)), Ink.BAND)]

    def _line(self, xs: list[float], down: Axis) -> list[Shape]:
        points = [(x, down.at(day.median)) for x, day in zip(xs, self.days, strict=True)]
        shapes: list[Shape] = []
        stretches = list(self._stretches())
        for (_, end), (start, _) in pairwise(stretches):
            shapes.append(Curve((points[end], points[start]), Ink.TERTIARY, Stroke.DOTTED))
        for start, end in stretches:
            if end > start:
                shapes.append(Curve(tuple(points[start : end + 1]), Ink.DRAFTED))
        return shapes

    def _dates(self, across: Axis) -> list[tuple[float, str]]:
        first, last = self.days[0].day, self.days[-1].day
        span = (last - first).days
        most = max(1, int((across.end - across.start) / _DATE_ROOM))
        step = max(1, -(-span // most))
        dates = (first + dt.timedelta(days=offset) for offset in range(0, span + 1, step))
        pattern = "d MMM yyyy" if span >= 365 else "d MMM"
        return [(across.at(day.toordinal()), _written(day, pattern)) for day in dates]

    def _spots(self, xs: list[float], left: float, down: Axis, room: Room) -> Iterator[Spot]:
        edges = [left, *((one + other) / 2 for one, other in pairwise(xs)), room.width]
        for index, day in enumerate(self.days):
            answers = (
                tr("1 answer") if day.answers == 1 else tr("{count} answers").format(count=f"{day.answers:,}")
            )
            few, many = (
                tr("{day}: {median}\n{answers}"),
                tr("{day}: {median}\nmiddle half {span} · {answers}"),
            )
            words = (few if day.few else many).format(
                day=_written(day.day, "d MMM yyyy"),
                median=self.unit.words(day.median),
                span=self.unit.span(day.lower, day.upper),
                answers=answers,
            )
            at = (xs[index], down.at(day.median))
            yield Spot(edges[index], 0, edges[index + 1] - edges[index], room.height, at, words)


def _written(day: dt.date, pattern: str) -> str:
    return QLocale().toString(QDate(day.year, day.month, day.day), pattern)


_STRIP_HEIGHT = 104
_STRIP_TICKS = 3


@dataclass(frozen=True, slots=True)
class SpeedStrip:
    """A point for each second.

    Attributes:
        speeds: Tokens per second, the newest second last; None where nothing was written.
    """

    speeds: tuple[float | None, ...]

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        written = any(speed is not None for speed in self.speeds)
        return "" if written else tr("Nothing was written in the last minute.")

    @property
    def height(self) -> int:
        """The same for every strip."""
        return _STRIP_HEIGHT

    def table(self) -> ChartTable:
        """Return a row for each second, the newest last as in the picture."""
        shown = range(0 if self.nothing else len(self.speeds))
        rows = ((str(self._age(index)), self._words(index)) for index in shown)
        return ChartTable((tr("seconds ago"), tr("speed")), tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw the scale, and each stretch of writing."""
        ticks = round_ticks(0.0, max(speed for speed in self.speeds if speed is not None), _STRIP_TICKS)
        left = room.widest(tuple(Unit.SPEED.tick(tick) for tick in ticks)) + GAP
        bottom = room.height - LINE - 1.5 * GAP
        down = Axis(ticks[0], ticks[-1], bottom, LINE / 2)
        pitch = (room.width - left) / len(self.speeds)
        points = [
            None if speed is None else (left + (index + 0.5) * pitch, down.at(speed))
            for index, speed in enumerate(self.speeds)
        ]
        shapes = upright_scale(down, ticks, Unit.SPEED, left, room.width)
        for is_gap, stretch in groupby(points, lambda point: point is None):
            if not is_gap:
                shapes += _stretch(tuple(point for point in stretch if point is not None), bottom)
        oldest = tr("{count} s ago").format(count=len(self.speeds))
        named = ((left + room.text_width(oldest) / 2, oldest), (room.width, tr("now")))
        shapes += words_below(room, named, bottom + GAP)
        spots = (
            Spot(
                left + index * pitch,
                0,
                pitch,
                room.height,
                self._anchor(point, left, index, pitch, bottom),
                self._told(index),
            )
            for index, point in enumerate(points)
        )
        return Drawing(tuple(shapes), tuple(spots))

    def _age(self, index: int) -> int:
        return len(self.speeds) - 1 - index

    def _words(self, index: int) -> str:
        speed = self.speeds[index]
        return tr("nothing written") if speed is None else Unit.SPEED.words(speed)

    def _told(self, index: int) -> str:
        age = self._age(index)
        when = tr("{count} s ago").format(count=age) if age else tr("now")
        return f"{when}: {self._words(index)}"

    @staticmethod
    def _anchor(
        point: tuple[float, float] | None, left: float, index: int, pitch: float, bottom: float
    ) -> tuple[float, float]:
        return point or (left + (index + 0.5) * pitch, bottom)


def _stretch(points: tuple[tuple[float, float], ...], bottom: float) -> list[Shape]:
    if len(points) == 1:
        return [Dot(*points[0], Ink.DRAFTED)]
    ground = Area(((points[0][0], bottom), *points, (points[-1][0], bottom)), Ink.BAND)
    return [ground, Curve(points, Ink.DRAFTED)]
