"""Line charts: cost of the verify step, medians by day, speed of the last minute."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QDate, QLocale

from app.dashboard.charts.axis import Axis, Unit, labels_below, round_ticks, upright_scale
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Area,
    Box,
    Canvas,
    ChartTable,
    Curve,
    Dot,
    DotShape,
    Drawing,
    Ink,
    Shape,
    Spot,
    Stroke,
    Text,
)
from app.i18n import tr
from app.storage.stats import FEWEST_QUARTILES
from mtplx_engine.measure.measurement import FEW_STEPS, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mtplx_engine.measure.measurement import VerifyCurve


_TICKS = 4
_LOOKS = (
    (Ink.DRAFTED, Stroke.SOLID, DotShape.ROUND),
    (Ink.PLAIN, Stroke.DASHED, DotShape.SQUARE),
)


@dataclass(frozen=True, slots=True)
class CostCurve:
    """V(M) with `context` tokens in the cache: `costs` of verifying 1, 2, ... tokens, in forwards over one token."""

    context: int
    costs: tuple[float, ...]

    @classmethod
    def of(cls, curve: VerifyCurve) -> CostCurve:
        """Divide measured seconds by those of one token."""
        return cls(curve.context, tuple(seconds / curve.seconds[0] for seconds in curve.seconds))


@dataclass(frozen=True, slots=True)
class CostCurves:
    """At most two cost curves, and the break-even line below which drafting pays.

    Attributes:
        may_cost: Break-even cost of verifying 1, 2, ... tokens, in forwards over one; () when nothing was drafted.
        verify_steps: The sample size behind `may_cost`.
    """

    height: ClassVar[int] = 236
    curves: tuple[CostCurve, ...]
    may_cost: tuple[float, ...] = ()
    verify_steps: int = 0

    @classmethod
    def of(cls, curves: Sequence[VerifyCurve], accepted_at: Sequence[int], verify_steps: int) -> CostCurves:
        """Combine measured curves with an acceptance by position; drafting costs what it does at its slowest."""
        drafts = [curve.draft_s / curve.seconds[0] for curve in curves if curve.draft_s is not None]
        shown = tuple(CostCurve.of(curve) for curve in curves)
        line = break_even(accepted_at, verify_steps, max(drafts)) if drafts and verify_steps else ()
        return cls(shown, line, verify_steps)

    @property
    def empty_text(self) -> str:
        return "" if self.curves else tr("The cost of verifying has not been measured yet.")

    def table(self) -> ChartTable:
        head = (tr("tokens verified"), *(self._name(curve) for curve in self.curves), tr("break-even"))
        rows = (
            (str(count), *(_cost(curve.costs, count) for curve in self.curves), _cost(self.may_cost, count))
            for count in range(1, self._most + 1)
        )
        return ChartTable(head, tuple(rows))

    def drawing(self, canvas: Canvas) -> Drawing:
        """Draw the scale, the region in which drafting pays, and the curves, named at their ends."""
        values = [cost for curve in self.curves for cost in curve.costs] + list(self.may_cost[: self._most])
        ticks = round_ticks(min(1.0, *values), max(values), _TICKS)
        left = canvas.widest(tuple(Unit.TIMES.tick(tick) for tick in ticks)) + GAP
        names = tuple(self._name(curve) for curve in self.curves)
        right = max(left + 2 * GAP, canvas.width - canvas.widest(names) - 2 * GAP)
        bottom = canvas.height - LINE - 1.5 * GAP
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
        shapes += labels_below(canvas, below, bottom + GAP)
        return Drawing(tuple(shapes), tuple(self._spot(count, across, down, canvas) for count in counts))

    def _break_even(self, across: Axis, down: Axis, left: float) -> list[Shape]:
        """Draw the break-even line, the area below it, and its legend on top."""
        if not self.may_cost:
            return []
        points = _points(across, down, self.may_cost[: self._most])
        below = ((points[0][0], down.start), *points, (points[-1][0], down.start))
        sample = ((left, LINE / 2), (left + 3 * GAP, LINE / 2))
        few = self.verify_steps < FEW_STEPS
        pattern = tr("drafting pays below (known of only {count} steps)") if few else tr("drafting pays below")
        legend = pattern.format(count=self.verify_steps)
        return [
            Area(below, Ink.TRACK if few else Ink.BAND),
            Curve(points, Ink.SECONDARY, Stroke.DOTTED),
            Curve(sample, Ink.SECONDARY, Stroke.DOTTED),
            Text(left + 4 * GAP, LINE / 2, legend, Ink.TERTIARY if few else Ink.SECONDARY),
        ]

    @property
    def _most(self) -> int:
        return max((len(curve.costs) for curve in self.curves), default=0)

    def _name(self, curve: CostCurve) -> str:
        return tr("after {count} tokens").format(count=f"{curve.context:,}")

    def _spot(self, count: int, across: Axis, down: Axis, canvas: Canvas) -> Spot:
        half = (across.at(2) - across.at(1)) / 2
        x = across.at(count)
        known = [curve for curve in self.curves if len(curve.costs) >= count]
        lines = [tr("1 token") if count == 1 else tr("{count} tokens").format(count=count)]
        lines += [f"{self._name(curve)}: {_cost(curve.costs, count)}" for curve in known]
        if 1 < count <= len(self.may_cost):
            lines.append(tr("may cost {cost}").format(cost=_cost(self.may_cost, count)))
        top = max(curve.costs[count - 1] for curve in known)
        return Spot(x - half, 0, 2 * half, canvas.height, (x, down.at(top)), "\n".join(lines))


def break_even(accepted_at: Sequence[int], verify_steps: int, draft_share: float) -> tuple[float, ...]:
    """Return the cost of verifying 1, 2, ... tokens, in forwards over one, above which drafting is a loss.

    A verify step over M tokens yields 1 + p_1 + ... + p_(M-1) tokens on average, p_i the acceptance at position i, and
    plain decoding takes a forward for each. Minus the cost of M - 1 drafts (each `draft_share` forwards over one token)
    that is the break-even. It ends with the last position of known acceptance. `accepted_at` is as in `DecodeStats`,
    `verify_steps` at least one.
    """
    shares = (count / verify_steps for count in accepted_at)
    lengths = accumulate(shares, initial=1.0)
    return tuple(length - drafts * draft_share for drafts, length in enumerate(lengths))


def _points(across: Axis, down: Axis, costs: Sequence[float]) -> tuple[tuple[float, float], ...]:
    return tuple((across.at(count), down.at(cost)) for count, cost in enumerate(costs, 1))


def _cost(costs: Sequence[float], count: int) -> str:
    return times(costs[count - 1]) if len(costs) >= count else ""


def _names(ends: list[tuple[float, str]], left: float) -> list[Shape]:
    """Put each name beside the end of its curve, lower ones moved down so that none overlap."""
    shapes: list[Shape] = []
    free = 0.0
    for y, name in sorted(ends):
        middle = max(y, free)
        free = middle + LINE
        shapes.append(Text(left, middle, name))
    return shapes


_DATE_ROOM = 72  # pixels for each date below
_DOT_ROOM = 7  # pixels that a day needs for a dot of its own
_LONE = 6  # width of the band of a day without neighbours, where a day is that wide
_ONE = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayMetric:
    """Median and quartiles over the answers of one day."""

    day: dt.date
    lower: float
    median: float
    upper: float
    answers: int

    @property
    def few(self) -> bool:
        """Whether the answers are too few for quartiles."""
        return self.answers < FEWEST_QUARTILES


@dataclass(frozen=True, slots=True)
class DailyMedians:
    """A point for each day with answers, oldest first, and a band between the quartiles where answers are enough."""

    height: ClassVar[int] = 200
    days: tuple[DayMetric, ...]
    unit: Unit = Unit.SPEED

    @property
    def empty_text(self) -> str:
        return "" if self.days else tr("No answers yet that could be shown here.")

    def table(self) -> ChartTable:
        head = (tr("day"), tr("median"), tr("lower quartile"), tr("upper quartile"), tr("answers"))
        value = self.unit.text
        rows = (
            (
                day.day.isoformat(),
                value(day.median),
                *(("–", "–") if day.few else (value(day.lower), value(day.upper))),
                f"{day.answers:,}",
            )
            for day in self.days
        )
        return ChartTable(head, tuple(rows))

    def drawing(self, canvas: Canvas) -> Drawing:
        """Draw the scale, the band and the line; where days are missing the line is dotted and the band ends."""
        base = 1.0 if self.unit in (Unit.TIMES, Unit.PER_STEP) else 0.0
        lowest = min(base, *(day.median if day.few else day.lower for day in self.days))
        highest = max(day.median if day.few else day.upper for day in self.days)
        ticks = round_ticks(lowest, highest, _TICKS)
        left = canvas.widest(tuple(self.unit.tick(tick) for tick in ticks)) + GAP
        bottom = canvas.height - LINE - 1.5 * GAP
        down = Axis(ticks[0], ticks[-1], bottom, LINE / 2)
        across = self._across(left, canvas.width)
        xs = [across.at(day.day.toordinal()) for day in self.days]
        day_width = (across.end - across.start) / (across.high - across.low)
        shapes = upright_scale(down, ticks, self.unit, left, canvas.width)
        for start, end in self._banded():
            shapes += self._band(xs, down, start, end, min(_LONE, day_width))
        shapes += self._line(xs, down)
        if (canvas.width - left) / len(self.days) >= _DOT_ROOM:
            shapes += [Dot(x, down.at(day.median), Ink.DRAFTED) for x, day in zip(xs, self.days, strict=True)]
        shapes += labels_below(canvas, self._dates(across), bottom + GAP)
        return Drawing(tuple(shapes), tuple(self._spots(xs, left, down, canvas)))

    def _across(self, left: float, right: float) -> Axis:
        first, last = self.days[0].day.toordinal(), self.days[-1].day.toordinal()
        return Axis(first - 0.5, last + 0.5, left, right)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last index of days that follow each other without a gap."""
        start = 0
        for index in range(1, len(self.days) + 1):
            if index == len(self.days) or self.days[index].day - self.days[index - 1].day > _ONE:
                yield start, index - 1
                start = index

    def _banded(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last index of consecutive days that all have quartiles."""
        for start, end in self._stretches():
            for few, days in groupby(range(start, end + 1), lambda index: self.days[index].few):
                indexes = list(days)
                if not few:
                    yield indexes[0], indexes[-1]

    def _band(self, xs: list[float], down: Axis, start: int, end: int, lone: float) -> list[Shape]:
        days = self.days[start : end + 1]
        if start == end:
            top, bottom = down.at(days[0].upper), down.at(days[0].lower)
            return [Box(xs[start] - lone / 2, top, lone, bottom - top, Ink.BAND)]
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

    def _spots(self, xs: list[float], left: float, down: Axis, canvas: Canvas) -> Iterator[Spot]:
        edges = [left, *((one + other) / 2 for one, other in pairwise(xs)), canvas.width]
        for index, day in enumerate(self.days):
            answers = tr("1 answer") if day.answers == 1 else tr("{count} answers")
            few = tr("{day}: {median}\n{answers}")
            many = tr("{day}: {median}\nmiddle half {span} · {answers}")
            callout = (few if day.few else many).format(
                day=_written(day.day, "d MMM yyyy"),
                median=self.unit.text(day.median),
                span=self.unit.span(day.lower, day.upper),
                answers=answers.format(count=f"{day.answers:,}"),
            )
            at = (xs[index], down.at(day.median))
            yield Spot(edges[index], 0, edges[index + 1] - edges[index], canvas.height, at, callout)


def _written(day: dt.date, pattern: str) -> str:
    return QLocale().toString(QDate(day.year, day.month, day.day), pattern)


_STRIP_TICKS = 3


@dataclass(frozen=True, slots=True)
class SpeedStrip:
    """Tokens per second in each of the last seconds, the newest last; None where nothing was generated."""

    height: ClassVar[int] = 104
    speeds: tuple[float | None, ...]

    @property
    def empty_text(self) -> str:
        written = any(speed is not None for speed in self.speeds)
        return "" if written else tr("Nothing was written in the last minute.")

    def table(self) -> ChartTable:
        shown = range(0 if self.empty_text else len(self.speeds))
        rows = ((str(self._age(index)), self._value(index)) for index in shown)
        return ChartTable((tr("seconds ago"), tr("speed")), tuple(rows))

    def drawing(self, canvas: Canvas) -> Drawing:
        ticks = round_ticks(0.0, max(speed for speed in self.speeds if speed is not None), _STRIP_TICKS)
        left = canvas.widest(tuple(Unit.SPEED.tick(tick) for tick in ticks)) + GAP
        bottom = canvas.height - LINE - 1.5 * GAP
        down = Axis(ticks[0], ticks[-1], bottom, LINE / 2)
        pitch = (canvas.width - left) / len(self.speeds)
        points = [
            None if speed is None else (left + (index + 0.5) * pitch, down.at(speed))
            for index, speed in enumerate(self.speeds)
        ]
        shapes = upright_scale(down, ticks, Unit.SPEED, left, canvas.width)
        for is_gap, stretch in groupby(points, lambda point: point is None):
            if not is_gap:
                shapes += _stretch(tuple(point for point in stretch if point is not None), bottom)
        oldest = tr("{count} s ago").format(count=len(self.speeds))
        named = ((left + canvas.text_width(oldest) / 2, oldest), (canvas.width, tr("now")))
        shapes += labels_below(canvas, named, bottom + GAP)
        spots = (
            Spot(
                left + index * pitch,
                0,
                pitch,
                canvas.height,
                point or (left + (index + 0.5) * pitch, bottom),
                self._callout(index),
            )
            for index, point in enumerate(points)
        )
        return Drawing(tuple(shapes), tuple(spots))

    def _age(self, index: int) -> int:
        return len(self.speeds) - 1 - index

    def _value(self, index: int) -> str:
        speed = self.speeds[index]
        return tr("nothing written") if speed is None else Unit.SPEED.text(speed)

    def _callout(self, index: int) -> str:
        age = self._age(index)
        when = tr("{count} s ago").format(count=age) if age else tr("now")
        return f"{when}: {self._value(index)}"


def _stretch(points: tuple[tuple[float, float], ...], bottom: float) -> list[Shape]:
    if len(points) == 1:
        return [Dot(*points[0], Ink.DRAFTED)]
    ground = Area(((points[0][0], bottom), *points, (points[-1][0], bottom)), Ink.BAND)
    return [ground, Curve(points, Ink.DRAFTED)]
