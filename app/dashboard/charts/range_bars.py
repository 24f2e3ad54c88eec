"""Medians with their ranges: speeds from nothing, or ratios from what plain decoding does."""

from __future__ import annotations

from dataclasses import dataclass

from app.dashboard.charts.axis import Axis, round_ticks
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Box,
    Drawing,
    Fill,
    Ink,
    Room,
    Rule,
    Shape,
    Spot,
    Words,
)
from app.dashboard.charts.figure_table import FigureTable
from app.dashboard.charts.level_axis import words_below
from app.dashboard.charts.unit import Unit
from app.translate import tr
from mtplx_engine.measurement import LEAST_PAIRS, Ratio, Verdict

_ROW = 40
_BAR = 14
_CAP = 8  # height of a whisker's ends
_TICKS = 5
_LABELS = 0.3  # of the width, at most
_INKS = {Verdict.FASTER: Ink.FASTER, Verdict.SLOWER: Ink.SLOWER}


@dataclass(frozen=True, slots=True)
class RangeBar:
    """What several runs gave.

    Attributes:
        label: What ran, as in "plain" or "depth 2".
        median: Of the runs.
        low: The least of them.
        high: The greatest.
        runs: How many they are; ratios come of as many pairs.
        drafted: Whether something was drafted in them.
    """

    label: str
    median: float
    low: float
    high: float
    runs: int
    drafted: bool = True

    @classmethod
    def of(cls, label: str, ratio: Ratio) -> RangeBar:
        """Return the bar of a ratio to plain decoding."""
        return cls(label, ratio.median, ratio.low, ratio.high, ratio.pairs)

    @property
    def few(self) -> bool:
        """Whether the runs are too few for a range."""
        return self.runs < LEAST_PAIRS

    @property
    def verdict(self) -> Verdict:
        """What a ratio says."""
        return Ratio(self.median, self.low, self.high, self.runs).verdict


@dataclass(frozen=True, slots=True)
class RangeBars:
    """Bars below each other. Ratios (`Unit.TIMES`) begin at 1, what plain decoding does; all else at 0."""

    bars: tuple[RangeBar, ...]
    unit: Unit = Unit.SPEED

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if self.bars else tr("Nothing has been measured yet.")

    @property
    def height(self) -> int:
        """A row for each bar, and the axis."""
        return _ROW * max(1, len(self.bars)) + LINE + GAP

    def table(self) -> FigureTable:
        """Return a row for each bar."""
        count, verdict = (tr("pairs"), (tr("verdict"),)) if self._is_ratio else (tr("runs"), ())
        head = (tr("decoding"), tr("median"), tr("lowest"), tr("highest"), count, *verdict)
        return FigureTable(head, tuple(self._row(bar) for bar in self.bars))

    def drawing(self, room: Room) -> Drawing:
        """Draw labels, bars, values, and the axis below."""
        left = min(room.widest(tuple(bar.label for bar in self.bars)), _LABELS * room.width) + 2 * GAP
        told = [(self._value(bar), self._note(bar)) for bar in self.bars]
        right = max(left + 1, room.width - room.widest(sum(told, ())) - 2 * GAP)
        bottom = _ROW * len(self.bars)
        ticks = self._ticks()
        axis = Axis(ticks[0], ticks[-1], left, right)
        shapes: list[Shape] = [Rule(axis.at(tick), 0, axis.at(tick), bottom, Ink.GRID) for tick in ticks]
        spots = []
        for index, (bar, (value, note)) in enumerate(zip(self.bars, told, strict=True)):
            top = _ROW * index
            middle = top + _ROW / 2
            shapes.append(Words(0, middle, bar.label))
            shapes += self._bar(bar, axis, middle)
            shapes.append(Words(right + 2 * GAP, middle - LINE / 2, value))
            shapes.append(Words(right + 2 * GAP, middle + LINE / 2, note, Ink.SECONDARY))
            spots.append(Spot(0, top, room.width, _ROW, (axis.at(bar.median), middle)))
        base = axis.at(self._base)
        shapes.append(Rule(base, 0, base, bottom, Ink.AXIS))
        named = [(base, tr("plain"))] if self._is_ratio else []
        named += [(axis.at(tick), self.unit.tick(tick)) for tick in ticks]
        shapes += words_below(room, named, bottom + GAP / 2)
        return Drawing(tuple(shapes), tuple(spots))

    @property
    def _is_ratio(self) -> bool:
        return self.unit is Unit.TIMES

    @property
    def _base(self) -> float:
        return 1.0 if self._is_ratio else 0.0

    def _ticks(self) -> tuple[float, ...]:
        ends = [self._base, *(end for bar in self.bars for end in (bar.low, bar.high))]
        return round_ticks(min(ends), max(ends), _TICKS)

    def _bar(self, bar: RangeBar, axis: Axis, middle: float) -> list[Shape]:
        base, end = axis.at(self._base), axis.at(bar.median)
        ink, fill = self._look(bar)
        shapes: list[Shape] = [Box(min(base, end), middle - _BAR / 2, abs(end - base), _BAR, ink, fill)]
        if not bar.few:
            low, high = axis.at(bar.low), axis.at(bar.high)
            shapes.append(Rule(low, middle, high, middle, Ink.TEXT))
            shapes += [Rule(x, middle - _CAP / 2, x, middle + _CAP / 2, Ink.TEXT) for x in (low, high)]
        return shapes

    def _look(self, bar: RangeBar) -> tuple[Ink, Fill]:
        if bar.few:
            return Ink.PLAIN, Fill.HOLLOW
        if self._is_ratio:
            loss = bar.verdict is Verdict.SLOWER
            return _INKS.get(bar.verdict, Ink.PLAIN), Fill.HATCHED if loss else Fill.SOLID
        return Ink.DRAFTED if bar.drafted else Ink.PLAIN, Fill.SOLID

    def _value(self, bar: RangeBar) -> str:
        value = self.unit.words(bar.median)
        return f"{value} {tr(bar.verdict)}" if self._is_ratio and not bar.few else value

    def _note(self, bar: RangeBar) -> str:
        pairs = tr("1 pair") if bar.runs == 1 else tr("{count} pairs")
        runs = tr("1 run") if bar.runs == 1 else tr("{count} runs")
        count = (pairs if self._is_ratio else runs).format(count=bar.runs)
        if bar.few:
            return tr("too few: {count}").format(count=count)
        return f"{self.unit.span(bar.low, bar.high)} · {count}"

    def _row(self, bar: RangeBar) -> tuple[str, ...]:
        ends = ("", "") if bar.few else (self.unit.words(bar.low), self.unit.words(bar.high))
        row = (bar.label, self.unit.words(bar.median), *ends, str(bar.runs))
        return (*row, tr(bar.verdict)) if self._is_ratio else row
