"""How many draft tokens the verify steps accepted: none, one, two, ..."""

from __future__ import annotations

from dataclasses import dataclass

from app.dashboard.charts.axis import Axis
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Align,
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
from app.dashboard.charts.unit import share_words
from app.translate import tr
from mtplx_engine.measurement import FEW_STEPS
from mtplx_engine.stats import accepted_histogram

_HEIGHT = 132
_WIDEST = 48


@dataclass(frozen=True, slots=True)
class AcceptedHistogram:
    """A column for each number of accepted tokens.

    Attributes:
        steps: How many verify steps accepted 0, 1, 2, ... tokens; they sum to all of them.
    """

    steps: tuple[int, ...]

    @classmethod
    def of(cls, accepted_at: tuple[int, ...], verify_steps: int) -> AcceptedHistogram:
        """Work the columns out of what was accepted at each position: a token is kept only after all before it."""
        return cls(accepted_histogram(verify_steps, accepted_at))

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw."""
        return "" if sum(self.steps) else tr("Nothing has been drafted yet.")

    @property
    def height(self) -> int:
        """The same for every histogram."""
        return _HEIGHT

    @property
    def few(self) -> bool:
        """Whether the steps are too few to go by."""
        return sum(self.steps) < FEW_STEPS

    def table(self) -> FigureTable:
        """Return a row for each column."""
        head = (tr("accepted in a step"), tr("share of steps"), tr("verify steps"))
        shown = () if self.nothing else self.steps
        rows = ((str(kept), self._share(count), f"{count:,}") for kept, count in enumerate(shown))
        return FigureTable(head, tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw the columns, their shares above and what they count below."""
        ink, fill = (Ink.PLAIN, Fill.HOLLOW) if self.few else (Ink.DRAFTED, Fill.SOLID)
        bottom = room.height - LINE - GAP / 2
        axis = Axis(0.0, max(self.steps), bottom, LINE + GAP / 2)
        pitch = room.width / len(self.steps)
        breadth = min(0.62 * pitch, _WIDEST)
        shapes: list[Shape] = []
        spots = []
        for kept, count in enumerate(self.steps):
            middle = pitch * (kept + 0.5)
            top = axis.at(count)
            shapes += [
                Box(middle - breadth / 2, top, breadth, bottom - top, ink, fill),
                Words(middle, top - LINE / 2, self._share(count), self._tone, Align.CENTRE),
                Words(middle, bottom + GAP / 2 + LINE / 2, str(kept), Ink.SECONDARY, Align.CENTRE),
            ]
            spots.append(Spot(pitch * kept, 0, pitch, room.height, (middle, top), self._words(kept, count)))
        shapes.append(Rule(0, bottom, room.width, bottom, Ink.AXIS))
        return Drawing(tuple(shapes), tuple(spots))

    @property
    def _tone(self) -> Ink:
        return Ink.TERTIARY if self.few else Ink.TEXT

    def _share(self, count: int) -> str:
        return share_words(count / sum(self.steps))

    def _words(self, kept: int, count: int) -> str:
        words = tr("{kept} accepted: {share} of the steps\n{count} of {steps} verify steps")
        return words.format(
            kept=kept, share=self._share(count), count=f"{count:,}", steps=f"{sum(self.steps):,}"
        )
