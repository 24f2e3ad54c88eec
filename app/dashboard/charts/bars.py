"""Bar charts: acceptance by position, ranges of runs, histogram of accepted drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.dashboard.charts.axis import Axis, Unit, labels_below, round_ticks, share_text
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Align,
    Box,
    Canvas,
    ChartTable,
    Drawing,
    Fill,
    Ink,
    Rule,
    Shape,
    Spot,
    Text,
)
from app.i18n import tr
from mtplx_engine.measure.measurement import FEW_STEPS, LEAST_PAIRS, Ratio, SpeedVerdict
from mtplx_engine.stats import accepted_histogram

_ROW = 26
_BAR = 14


@dataclass(frozen=True, slots=True)
class PositionBars:
    """A bar for each draft position: how many of the `verify_steps` accepted the draft there, as in `DecodeStats`."""

    accepted_at: tuple[int, ...]
    verify_steps: int

    @property
    def empty_text(self) -> str:
        return "" if self.verify_steps and self.accepted_at else tr("Nothing has been drafted yet.")

    @property
    def height(self) -> int:
        return _ROW * max(1, len(self.accepted_at))

    @property
    def few(self) -> bool:
        """Whether the verify steps are too few to go by."""
        return self.verify_steps < FEW_STEPS

    def table(self) -> ChartTable:
        head = (tr("position"), tr("share accepted"), tr("accepted"), tr("verify steps"))
        steps = f"{self.verify_steps:,}"
        rows = (
            (str(position), self._share(count), f"{count:,}", steps)
            for position, count in enumerate(() if self.empty_text else self.accepted_at, 1)
        )
        return ChartTable(head, tuple(rows))

    def drawing(self, canvas: Canvas) -> Drawing:
        ink, fill = (Ink.PLAIN, Fill.HOLLOW) if self.few else (Ink.DRAFTED, Fill.SOLID)
        samples = [self._sample(count) for count in self.accepted_at]
        left = canvas.text_width(str(len(self.accepted_at))) + GAP
        samples_left = canvas.width - canvas.widest(tuple(samples))
        right = max(left + 1, samples_left - canvas.text_width(share_text(1.0)) - 3 * GAP)
        axis = Axis(0.0, 1.0, left, right)
        shapes: list[Shape] = []
        spots = []
        for index, (count, sample) in enumerate(zip(self.accepted_at, samples, strict=True)):
            top = _ROW * index
            middle = top + _ROW / 2
            end = axis.at(count / self.verify_steps)
            shapes += [
                Text(0, middle, str(index + 1), Ink.SECONDARY),
                Box(left, middle - _BAR / 2, right - left, _BAR, Ink.TRACK),
                Box(left, middle - _BAR / 2, end - left, _BAR, ink, fill),
                Text(right + 1.5 * GAP, middle, self._share(count), Ink.TERTIARY if self.few else Ink.TEXT),
                Text(samples_left, middle, sample, Ink.TERTIARY),
            ]
            spots.append(Spot(0, top, canvas.width, _ROW, (end, middle)))
        return Drawing(tuple(shapes), tuple(spots))

    def _share(self, count: int) -> str:
        return share_text(count / self.verify_steps)

    def _sample(self, count: int) -> str:
        sample = tr("{count} of {steps}").format(count=f"{count:,}", steps=f"{self.verify_steps:,}")
        return tr("only {sample}").format(sample=sample) if self.few else sample


_RANGE_ROW = 40
_CAP = 8  # height of a whisker's ends
_TICKS = 5
_LABELS = 0.3  # of the width, at most
_INKS = {SpeedVerdict.FASTER: Ink.FASTER, SpeedVerdict.SLOWER: Ink.SLOWER}


@dataclass(frozen=True, slots=True)
class RangeBar:
    """Median and range, `low` to `high`, of several `runs`; of a ratio, of so many pairs of runs."""

    label: str
    median: float
    low: float
    high: float
    runs: int
    drafted: bool = True

    @classmethod
    def of(cls, label: str, ratio: Ratio) -> RangeBar:
        return cls(label, ratio.median, ratio.low, ratio.high, ratio.pairs)

    @property
    def few(self) -> bool:
        """Whether the runs are too few for a range."""
        return self.runs < LEAST_PAIRS

    @property
    def verdict(self) -> SpeedVerdict:
        return Ratio(self.median, self.low, self.high, self.runs).verdict


@dataclass(frozen=True, slots=True)
class RangeBars:
    """Bars with ranges below each other. Ratios (`Unit.TIMES`) start at 1, plain decoding; all else at 0."""

    bars: tuple[RangeBar, ...]
    unit: Unit = Unit.SPEED

    @property
    def empty_text(self) -> str:
        return "" if self.bars else tr("Nothing has been measured yet.")

    @property
    def height(self) -> int:
        return _RANGE_ROW * max(1, len(self.bars)) + LINE + GAP

    def table(self) -> ChartTable:
        count, verdict = (tr("pairs"), (tr("verdict"),)) if self._is_ratio else (tr("runs"), ())
        head = (tr("decoding"), tr("median"), tr("lowest"), tr("highest"), count, *verdict)
        return ChartTable(head, tuple(self._row(bar) for bar in self.bars))

    def drawing(self, canvas: Canvas) -> Drawing:
        left = min(canvas.widest(tuple(bar.label for bar in self.bars)), _LABELS * canvas.width) + 2 * GAP
        notes = [(self._value(bar), self._note(bar)) for bar in self.bars]
        right = max(left + 1, canvas.width - canvas.widest(sum(notes, ())) - 2 * GAP)
        bottom = _RANGE_ROW * len(self.bars)
        ticks = self._ticks()
        axis = Axis(ticks[0], ticks[-1], left, right)
        shapes: list[Shape] = [Rule(axis.at(tick), 0, axis.at(tick), bottom, Ink.GRID) for tick in ticks]
        spots = []
        for index, (bar, (value, note)) in enumerate(zip(self.bars, notes, strict=True)):
            top = _RANGE_ROW * index
            middle = top + _RANGE_ROW / 2
            shapes.append(Text(0, middle, bar.label))
            shapes += self._bar(bar, axis, middle)
            shapes.append(Text(right + 2 * GAP, middle - LINE / 2, value))
            shapes.append(Text(right + 2 * GAP, middle + LINE / 2, note, Ink.SECONDARY))
            spots.append(Spot(0, top, canvas.width, _RANGE_ROW, (axis.at(bar.median), middle)))
        base = axis.at(self._base)
        shapes.append(Rule(base, 0, base, bottom, Ink.AXIS))
        named = [(base, tr("plain"))] if self._is_ratio else []
        named += [(axis.at(tick), self.unit.tick(tick)) for tick in ticks]
        shapes += labels_below(canvas, named, bottom + GAP / 2)
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
        ink, fill = self._style(bar)
        shapes: list[Shape] = [Box(min(base, end), middle - _BAR / 2, abs(end - base), _BAR, ink, fill)]
        if not bar.few:
            low, high = axis.at(bar.low), axis.at(bar.high)
            shapes.append(Rule(low, middle, high, middle, Ink.TEXT))
            shapes += [Rule(x, middle - _CAP / 2, x, middle + _CAP / 2, Ink.TEXT) for x in (low, high)]
        return shapes

    def _style(self, bar: RangeBar) -> tuple[Ink, Fill]:
        if bar.few:
            return Ink.PLAIN, Fill.HOLLOW
        if self._is_ratio:
            loss = bar.verdict is SpeedVerdict.SLOWER
            return _INKS.get(bar.verdict, Ink.PLAIN), Fill.HATCHED if loss else Fill.SOLID
        return Ink.DRAFTED if bar.drafted else Ink.PLAIN, Fill.SOLID

    def _value(self, bar: RangeBar) -> str:
        value = self.unit.text(bar.median)
        return f"{value} {tr(bar.verdict)}" if self._is_ratio and not bar.few else value

    def _note(self, bar: RangeBar) -> str:
        pairs = tr("1 pair") if bar.runs == 1 else tr("{count} pairs")
        runs = tr("1 run") if bar.runs == 1 else tr("{count} runs")
        count = (pairs if self._is_ratio else runs).format(count=bar.runs)
        if bar.few:
            return tr("too few: {count}").format(count=count)
        return f"{self.unit.span(bar.low, bar.high)} · {count}"

    def _row(self, bar: RangeBar) -> tuple[str, ...]:
        ends = ("", "") if bar.few else (self.unit.text(bar.low), self.unit.text(bar.high))
        row = (bar.label, self.unit.text(bar.median), *ends, str(bar.runs))
        return (*row, tr(bar.verdict)) if self._is_ratio else row


_WIDEST = 48


@dataclass(frozen=True, slots=True)
class AcceptedHistogram:
    """Histogram of the drafts that verify steps accepted: `steps[i]` is how many steps accepted i."""

    height: ClassVar[int] = 132
    steps: tuple[int, ...]

    @classmethod
    def of(cls, accepted_at: tuple[int, ...], verify_steps: int) -> AcceptedHistogram:
        """Derive the columns from the acceptance by position: a draft is accepted only after all before it."""
        return cls(accepted_histogram(verify_steps, accepted_at))

    @property
    def empty_text(self) -> str:
        return "" if sum(self.steps) else tr("Nothing has been drafted yet.")

    @property
    def few(self) -> bool:
        """Whether the verify steps are too few to go by."""
        return sum(self.steps) < FEW_STEPS

    def table(self) -> ChartTable:
        head = (tr("accepted in a step"), tr("share of steps"), tr("verify steps"))
        shown = () if self.empty_text else self.steps
        rows = ((str(kept), self._share(count), f"{count:,}") for kept, count in enumerate(shown))
        return ChartTable(head, tuple(rows))

    def drawing(self, canvas: Canvas) -> Drawing:
        ink, fill = (Ink.PLAIN, Fill.HOLLOW) if self.few else (Ink.DRAFTED, Fill.SOLID)
        text_ink = Ink.TERTIARY if self.few else Ink.TEXT
        bottom = canvas.height - LINE - GAP / 2
        axis = Axis(0.0, max(self.steps), bottom, LINE + GAP / 2)
        pitch = canvas.width / len(self.steps)
        breadth = min(0.62 * pitch, _WIDEST)
        shapes: list[Shape] = []
        spots = []
        for kept, count in enumerate(self.steps):
            middle = pitch * (kept + 0.5)
            top = axis.at(count)
            shapes += [
                Box(middle - breadth / 2, top, breadth, bottom - top, ink, fill),
                Text(middle, top - LINE / 2, self._share(count), text_ink, Align.CENTRE),
                Text(middle, bottom + GAP / 2 + LINE / 2, str(kept), Ink.SECONDARY, Align.CENTRE),
            ]
            spots.append(Spot(pitch * kept, 0, pitch, canvas.height, (middle, top), self._callout(kept, count)))
        shapes.append(Rule(0, bottom, canvas.width, bottom, Ink.AXIS))
        return Drawing(tuple(shapes), tuple(spots))

    def _share(self, count: int) -> str:
        return share_text(count / sum(self.steps))

    def _callout(self, kept: int, count: int) -> str:
        pattern = tr("{kept} accepted: {share} of the steps\n{count} of {steps} verify steps")
        return pattern.format(kept=kept, share=self._share(count), count=f"{count:,}", steps=f"{sum(self.steps):,}")
