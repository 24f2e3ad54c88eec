"""Medians by day, with the band that holds the middle half of the answers."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate, QLocale

from app.dashboard.charts.axis import Axis, round_ticks
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Area,
    Box,
    Curve,
    Dot,
    Drawing,
    Ink,
    Room,
    Shape,
    Spot,
    Stroke,
)
from app.dashboard.charts.figure_table import FigureTable
from app.dashboard.charts.level_axis import upright_scale, words_below
from app.dashboard.charts.unit import Unit
from app.services.history import FEWEST_QUARTILES
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEIGHT = 200
_TICKS = 4
_DATE_ROOM = 72  # pixels for each date below
_DOT_ROOM = 7  # pixels that a day needs for a dot of its own
_LONE = 6  # width of the quartiles of a day without neighbours
_ONE = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayFigure:
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

    days: tuple[DayFigure, ...]
    unit: Unit = Unit.SPEED

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if self.days else tr("No answers yet that could be shown here.")

    @property
    def height(self) -> int:
        """The same for every history."""
        return _HEIGHT

    def table(self) -> FigureTable:
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
        return FigureTable(head, tuple(rows))

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
