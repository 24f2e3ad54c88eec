"""What a parsed message is made of: a flat row of leaves, each knowing the lists and quotes it sits in.

Nesting is kept as data of the leaf, so that two parses can be compared leaf by leaf and only what differs is
written again. Nothing here knows Qt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, Flag, auto

from app.render.units import units


class Mark(Flag):
    """How a run of text is set."""

    NONE = 0
    STRONG = auto()
    EMPHASIS = auto()
    STRIKE = auto()
    CODE = auto()
    MATH = auto()


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look.

    Attributes:
        text: A line break is a newline; a formula is its source, with its signs.
        marks: The look.
        href: Where it leads, "" for nowhere.
        drawn: The document has it as one drawn formula; says nothing about what it is, so it does not count in
            comparisons.
        isolated: The document has it between two signs, so that what is around it does not change its direction;
            does not count either.
    """

    text: str
    marks: Mark = Mark.NONE
    href: str = ""
    drawn: bool = field(default=False, compare=False)
    isolated: bool = field(default=False, compare=False)

    @property
    def length(self) -> int:
        """Its length in the document, in UTF-16 units."""
        return 1 if self.drawn else units(self.text) + 2 * self.lead

    @property
    def lead(self) -> int:
        """How many units stand in the document before its text, and behind it."""
        return int(self.isolated)


class Kind(Enum):
    """What a leaf can sit in."""

    QUOTE = auto()
    LIST = auto()


@dataclass(frozen=True, slots=True)
class Container:
    """One quote or list item around a leaf.

    Attributes:
        kind: Quote or list item.
        marker: The item's sign as it is shown, on the first leaf of an item only.
    """

    kind: Kind
    marker: str = ""


BULLET = "•"
TASK_OPEN = "☐"
TASK_DONE = "☑"

Place = tuple[Container, ...]
"""The containers of a leaf, outermost first."""


class Align(Enum):
    """Where the text of a table's column stands."""

    LEADING = auto()
    CENTER = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text. A very long one is several leaves, of which all but the first continue the one before."""

    place: Place
    runs: tuple[Run, ...]
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    place: Place
    level: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line between sections."""

    place: Place


@dataclass(frozen=True, slots=True)
class Code:
    """A code block.

    Attributes:
        language: First word behind the fence, as it was written.
        text: The source, each line ending in a newline.
        is_open: More may come; says nothing about what the block is, so it does not count in comparisons.
    """

    place: Place
    language: str
    text: str
    is_open: bool = field(default=False, compare=False)


Cell = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as there are `aligns`, the first row is the header."""

    place: Place
    aligns: tuple[Align, ...]
    rows: tuple[tuple[Cell, ...], ...]


Leaf = Paragraph | Heading | Rule | Code | Table


def text_of(runs: tuple[Run, ...]) -> str:
    """Return the bare text of `runs`."""
    return "".join(run.text for run in runs)


def stands_alone(leaf: Leaf) -> bool:
    """Return whether `leaf` is a formula on a line of its own."""
    return (
        isinstance(leaf, Paragraph)
        and len(leaf.runs) == 1
        and Mark.MATH in leaf.runs[0].marks
        and leaf.runs[0].text.startswith(("$$", "\\["))
    )


def unmarked(place: Place) -> Place:
    """Return `place` for a leaf that begins no item there."""
    return tuple(Container(each.kind) for each in place)
