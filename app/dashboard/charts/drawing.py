"""What a chart looks like, before anything is painted: shapes in logical pixels, in the inks of no palette yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.dashboard.charts.figure_table import FigureTable

LINE = 16  # height of a line of words
GAP = 8  # between words and marks


class Ink(Enum):
    """What something is drawn in."""

    TEXT = auto()
    SECONDARY = auto()
    TERTIARY = auto()
    AXIS = auto()  # where a value begins, and what others are compared with
    GRID = auto()
    TRACK = auto()  # all that a bar could fill
    BAND = auto()  # behind a curve
    DRAFTED = auto()
    PLAIN = auto()
    FASTER = auto()
    SLOWER = auto()


class Fill(Enum):
    """How a bar is filled; it says the same as its ink to people who see few colours."""

    SOLID = auto()
    HATCHED = auto()  # a loss
    HOLLOW = auto()  # too few samples to go by


class Stroke(Enum):
    """How a curve is drawn."""

    SOLID = auto()
    DASHED = auto()
    DOTTED = auto()


class Form(Enum):
    """The form of a dot."""

    ROUND = auto()
    SQUARE = auto()


class Align(Enum):
    """Which part of a line of words is at its place."""

    LEFT = auto()
    CENTRE = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True)
class Box:
    """A bar, or part of the ground."""

    x: float
    y: float
    width: float
    height: float
    ink: Ink
    fill: Fill = Fill.SOLID


@dataclass(frozen=True, slots=True)
class Rule:
    """A level or upright line, a pixel wide."""

    x1: float
    y1: float
    x2: float
    y2: float
    ink: Ink


@dataclass(frozen=True, slots=True)
class Curve:
    """Straight lines from point to point."""

    points: tuple[tuple[float, float], ...]
    ink: Ink
    stroke: Stroke = Stroke.SOLID


@dataclass(frozen=True, slots=True)
class Area:
    """What lies between points."""

    points: tuple[tuple[float, float], ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Dot:
    """A point that was measured."""

    x: float
    y: float
    ink: Ink
    form: Form = Form.ROUND


@dataclass(frozen=True, slots=True)
class Words:
    """A line of words; `y` is its middle."""

    x: float
    y: float
    text: str
    ink: Ink = Ink.TEXT
    align: Align = Align.LEFT


Shape = Box | Rule | Curve | Area | Dot | Words


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one row of the table is, and what it says when it is pointed at.

    Attributes:
        x: Left edge of what belongs to it.
        y: Top edge.
        width: Pixels.
        height: Pixels.
        at: The point that the words point at.
        words: In lines; "" where all of it is written in the picture.
    """

    x: float
    y: float
    width: float
    height: float
    at: tuple[float, float]
    words: str = ""

    def distance(self, x: float, y: float) -> float:
        """Return how far a point is away from it, 0 inside."""
        across = max(self.x - x, 0.0, x - self.x - self.width)
        down = max(self.y - y, 0.0, y - self.y - self.height)
        return max(across, down)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole chart.

    Attributes:
        shapes: In the order in which they are painted.
        spots: One for each row of the table, in its order.
    """

    shapes: tuple[Shape, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """What there is to draw in.

    Attributes:
        width: Pixels.
        height: Pixels.
        text_width: Returns how wide words are, in pixels.
    """

    width: float
    height: float
    text_width: Callable[[str], float]

    def widest(self, texts: tuple[str, ...]) -> float:
        """Return the width of the widest of some words."""
        return max(map(self.text_width, texts), default=0.0)


class Figures(Protocol):
    """What a chart shows: a value, which knows its table and how it is drawn."""

    @property
    def nothing(self) -> str:
        """Why there is nothing to draw, in words; "" when there is something."""

    @property
    def height(self) -> int:
        """The height that it wants, in pixels."""

    def table(self) -> FigureTable:
        """Return the figures in words, without rows where there are none."""

    def drawing(self, room: Room) -> Drawing:
        """Draw what is not nothing."""
