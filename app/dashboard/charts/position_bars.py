"""Acceptance by position: how often the first, the second, ... draft token was kept."""

from __future__ import annotations

from dataclasses import dataclass

from app.dashboard.charts.axis import Axis
from app.dashboard.charts.drawing import GAP, Box, Drawing, Fill, Ink, Room, Shape, Spot, Words
from app.dashboard.charts.figure_table import FigureTable
from app.dashboard.charts.unit import share_words
from app.translate import tr
from mtplx_engine.measurement import FEW_STEPS

_ROW = 26
_BAR = 14


@dataclass(frozen=True, slots=True)
class PositionBars:
    """A bar for each position.

    Attributes:
        accepted_at: How many were accepted at draft position 1, 2, ...; as in `DecodeStats`.
        verify_steps: Out of how many steps.
    """

    accepted_at: tuple[int, ...]
    verify_steps: int

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if self.verify_steps and self.accepted_at else tr("Nothing has been drafted yet.")

    @property
    def height(self) -> int:
        """A row for each position."""
        return _ROW * max(1, len(self.accepted_at))

    @property
    def few(self) -> bool:
        """Whether the steps are too few to go by."""
        return self.verify_steps < FEW_STEPS

    def table(self) -> FigureTable:
        """Return a row for each position."""
        head = (tr("position"), tr("share accepted"), tr("accepted"), tr("verify steps"))
        steps = f"{self.verify_steps:,}"
        rows = (
            (str(place), self._share(count), f"{count:,}", steps)
            for place, count in enumerate(() if self.nothing else self.accepted_at, 1)
        )
        return FigureTable(head, tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw each bar on the track that it could fill, with its share and the sample behind it."""
        ink, fill = (Ink.PLAIN, Fill.HOLLOW) if self.few else (Ink.DRAFTED, Fill.SOLID)
        samples = [self._sample(count) for count in self.accepted_at]
        left = room.text_width(str(len(self.accepted_at))) + GAP
        told = room.width - room.widest(tuple(samples))
        right = max(left + 1, told - room.text_width(share_words(1.0)) - 3 * GAP)
        axis = Axis(0.0, 1.0, left, right)
        shapes: list[Shape] = []
        spots = []
        for index, (count, sample) in enumerate(zip(self.accepted_at, samples, strict=True)):
            top = _ROW * index
            middle = top + _ROW / 2
            end = axis.at(count / self.verify_steps)
            shapes += [
                Words(0, middle, str(index + 1), Ink.SECONDARY),
                Box(left, middle - _BAR / 2, right - left, _BAR, Ink.TRACK),
                Box(left, middle - _BAR / 2, end - left, _BAR, ink, fill),
                Words(right + 1.5 * GAP, middle, self._share(count), Ink.TERTIARY if self.few else Ink.TEXT),
                Words(told, middle, sample, Ink.TERTIARY),
            ]
            spots.append(Spot(0, top, room.width, _ROW, (end, middle)))
        return Drawing(tuple(shapes), tuple(spots))

    def _share(self, count: int) -> str:
        return share_words(count / self.verify_steps)

    def _sample(self, count: int) -> str:
        sample = tr("{count} of {steps}").format(count=f"{count:,}", steps=f"{self.verify_steps:,}")
        return tr("only {sample}").format(sample=sample) if self.few else sample
