"""The speed over the last minute, with gaps where nothing was written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from app.dashboard.charts.axis import Axis, round_ticks
from app.dashboard.charts.drawing import GAP, LINE, Area, Curve, Dot, Drawing, Ink, Room, Shape, Spot
from app.dashboard.charts.figure_table import FigureTable
from app.dashboard.charts.level_axis import upright_scale, words_below
from app.dashboard.charts.unit import Unit
from app.translate import tr

_HEIGHT = 104
_TICKS = 3


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
        return _HEIGHT

    def table(self) -> FigureTable:
        """Return a row for each second, the newest last as in the picture."""
        shown = range(0 if self.nothing else len(self.speeds))
        rows = ((str(self._age(index)), self._words(index)) for index in shown)
        return FigureTable((tr("seconds ago"), tr("speed")), tuple(rows))

    def drawing(self, room: Room) -> Drawing:
        """Draw the scale, and each stretch of writing."""
        ticks = round_ticks(0.0, max(speed for speed in self.speeds if speed is not None), _TICKS)
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
